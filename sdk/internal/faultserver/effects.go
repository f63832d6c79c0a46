package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// effects are tools that do something.
var effects = map[string]func(*server, message){
	// echo {text} answers text; c_big {size} that many bytes (default -size).
	"echo": func(s *server, m message) {
		var a struct{ Text string }
		arguments(m, &a)
		s.result(m, textResult(a.Text))
	},
	"c_big": func(s *server, m message) {
		a := struct{ Size int }{s.size}
		arguments(m, &a)
		s.result(m, textResult(strings.Repeat("x", a.Size)))
	},
	// raw answers the request's own bytes as text.
	"raw": func(s *server, m message) { s.result(m, textResult(m.line)) },
	// c_raw_badutf8 answers bytes that are no UTF-8 inside a string.
	"c_raw_badutf8": func(s *server, m message) {
		s.result(m, "{\"content\":[{\"type\":\"text\",\"text\":\"bad \xc3\x28 end\"}]}")
	},
	"c_rpc_error": func(s *server, m message) {
		s.answer(m, answer{fault: `{"code":-32050,"message":"no quota","data":{"left":0}}`})
	},
	"c_invalid_params": func(s *server, m message) { s.refuse(m, -32602, "city is missing") },

	// t_sleep {ms} answers after that time, t_hang never, t_progress {ms, step}
	// with progress every step, t_progress_forever never but with progress.
	"t_sleep": func(s *server, m message) {
		a := struct{ MS int }{1000}
		arguments(m, &a)
		time.Sleep(time.Duration(a.MS) * time.Millisecond)
		s.result(m, textResult("slept"))
	},
	"t_hang": func(*server, message) {},
	"t_progress": func(s *server, m message) {
		a := struct{ MS, Step int }{1000, 100}
		arguments(m, &a)
		n := a.MS / max(a.Step, 1)
		for i := range n {
			time.Sleep(time.Duration(a.Step) * time.Millisecond)
			s.progress(m, i+1, n)
		}
		s.result(m, textResult("done"))
		s.progress(m, n+1, n) // late
	},
	"t_progress_forever": func(s *server, m message) {
		for i := 1; s.progress(m, i, 0); i++ {
			time.Sleep(100 * time.Millisecond)
		}
	},

	// s_count counts calls in -state, s_read tells the count, s_count_drop counts
	// and exits without an answer, s_count_once does that the first time only.
	"s_count":      func(s *server, m message) { s.result(m, textResult(fmt.Sprint(s.count()))) },
	"s_read":       func(s *server, m message) { s.result(m, textResult(fmt.Sprint(s.counted()))) },
	"s_count_drop": func(s *server, _ message) { s.count(); os.Exit(3) },
	"s_count_once": func(s *server, m message) {
		if s.count() == 1 {
			os.Exit(3)
		}
		s.result(m, textResult(fmt.Sprint(s.counted())))
	},

	// s_mark {id, ms} writes id as a line of -state, takes ms, and answers id: what
	// it did can be told from what was said of it.
	"s_mark": func(s *server, m message) {
		var a struct {
			ID string
			MS int
		}
		arguments(m, &a)
		s.mark(a.ID)
		time.Sleep(time.Duration(a.MS) * time.Millisecond)
		s.result(m, textResult(a.ID))
	},

	// x_exit {code} exits without an answer; x_grow adds the tool x_grown; x_rug
	// rewrites the tool rug; x_notify says -n times that the list changed; x_env {names} answers a JSON object of the
	// named variables, null for one that is not set.
	"x_exit": func(_ *server, m message) {
		a := struct{ Code int }{3}
		arguments(m, &a)
		fmt.Fprintln(os.Stderr, "exiting as told")
		os.Exit(a.Code)
	},
	"x_grow": func(s *server, m message) {
		s.grown.Store(true)
		s.changed(m)
		s.result(m, textResult("grown"))
	},
	"x_rug": func(s *server, m message) {
		s.rugged.Store(true)
		s.changed(m)
		s.result(m, textResult("done"))
	},
	"x_env": func(s *server, m message) {
		var a struct{ Names []string }
		arguments(m, &a)
		env := map[string]*string{}
		for _, n := range a.Names {
			if v, ok := os.LookupEnv(n); ok {
				env[n] = &v
			} else {
				env[n] = nil
			}
		}
		b, err := json.Marshal(env)
		if err != nil {
			fatal(err.Error())
		}
		s.result(m, textResult(string(b)))
	},
	"x_notify": func(s *server, m message) {
		for range s.n {
			s.changed(m)
		}
		s.result(m, textResult("notified"))
	},

	// x_log {text} logs text as a warning before it answers.
	"x_log": func(s *server, m message) {
		var a struct{ Text string }
		arguments(m, &a)
		m.to.write(notification("notifications/message", `{"level":"warning","logger":"x","data":{"text":`+quote(a.Text)+`,"n":1.0}}`), false)
		s.result(m, textResult("logged"))
	},

	// w_nonewline answers without a newline and exits; w_late answers twice;
	// w_stderrflood writes -size bytes to stderr first.
	"w_nonewline": func(_ *server, m message) {
		raw(answer{id: string(m.ID), result: textResult("last words")}.String())
		os.Exit(0)
	},
	"w_late": func(s *server, m message) {
		s.result(m, textResult("once"))
		s.result(m, textResult("twice"))
	},
	"w_stderrflood": func(s *server, m message) {
		for n := 0; n < s.size; n += 1000 {
			os.Stderr.WriteString(strings.Repeat("f", 999) + "\n")
		}
		s.result(m, textResult("flooded"))
	},
	// w_raw {text} writes text to stdout as it is, then answers.
	"w_raw": func(s *server, m message) {
		var a struct{ Text string }
		arguments(m, &a)
		s.out.Lock()
		raw(a.Text)
		s.out.Unlock()
		s.result(m, textResult("written"))
	},

	// a_* ask the host, with their own arguments as params, and answer "client result: ..." or "client error: ...".
	"a_ping":     ask("", "ping"),
	"a_roots":    ask("", "roots/list"),
	"a_sampling": ask("", "sampling/createMessage"),
	"a_elicit":   ask("", "elicitation/create"),
	"a_unknown":  ask("", "nasty/unknown"),
	"a_sameid":   func(s *server, m message) { s.result(m, textResult(s.ask(m.to, string(m.ID), "ping", nil))) },
	"a_bigid":    ask("1152921504606846977.0", "ping"),

	// c_input_required asks for input by the rules of 2026-07-28 and, called again
	// with some, answers what it got. Its arguments are the params of what it asks.
	"c_input_required": func(s *server, m message) {
		var p struct {
			InputResponses, Arguments json.RawMessage
			RequestState              string
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			fatal(err.Error())
		}
		if p.RequestState == "s-1" {
			s.result(m, textResult("state "+p.RequestState+", responses "+string(p.InputResponses)))
			return
		}
		if len(p.Arguments) <= len("{}") {
			p.Arguments = json.RawMessage(`{"message":"sure?"}`)
		}
		s.result(m, `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":`+string(p.Arguments)+`}},"requestState":"s-1"}`)
	},

	"rug":     func(s *server, m message) { s.result(m, textResult("rug")) },
	"x_grown": func(s *server, m message) { s.result(m, textResult("grown")) },
}

func ask(id, method string) func(*server, message) {
	return func(s *server, m message) {
		var params json.RawMessage
		arguments(m, &params)
		s.result(m, textResult(s.ask(m.to, id, method, params)))
	}
}

// progress reports progress of a call under the token it came with. False:
// nobody listens any more.
func (s *server) progress(m message, done, total int) bool {
	var p struct {
		Meta struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &p) != nil || p.Meta.ProgressToken == nil {
		return true
	}
	return m.to.write(notification("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":%d,"message":"step %d"}`, p.Meta.ProgressToken, done, total, done)), false)
}

// count counts one call in the state file, across runs; one byte is one call.
func (s *server) count() int { return s.countIn(s.state) }

func (s *server) countIn(path string) int {
	s.appendTo(path, ".")
	return counted(path)
}

func (s *server) mark(id string) { s.appendTo(s.state, id+"\n") }

// appendTo writes text to the end of a file in one piece, so that two processes
// cannot tear each other's.
func (s *server) appendTo(path, text string) {
	if s.state == "" {
		fatal("counting needs -state")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fatal(err.Error())
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		fatal(err.Error())
	}
}

func (s *server) counted() int { return counted(s.state) }

func counted(path string) int {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	return len(b)
}
