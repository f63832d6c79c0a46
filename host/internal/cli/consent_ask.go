package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// consenter asks the person at the terminal before a call, or says yes for them with
// yes. spinner is that of the command, which may begin later.
func consenter(s *terminal.Streams, yes bool, spinner *terminal.Spinner) host.Consenter {
	if yes {
		return func(context.Context, host.ConsentQuestion) (host.ConsentAnswer, error) {
			return host.ConsentAnswer{Yes: true, By: "--yes"}, nil
		}
	}
	if !s.InTerminal || !s.ErrTerminal {
		return func(context.Context, host.ConsentQuestion) (host.ConsentAnswer, error) {
			return host.ConsentAnswer{}, errors.New("nobody is here to ask (--yes says yes without a question)")
		}
	}
	var one sync.Mutex // a script may call several tools at once, and there is one keyboard
	gone := false      // nobody answers any more
	return func(ctx context.Context, q host.ConsentQuestion) (host.ConsentAnswer, error) {
		one.Lock()
		defer one.Unlock()
		if gone {
			return host.ConsentAnswer{}, errors.New("the terminal ended")
		}
		if err := ctx.Err(); err != nil {
			return host.ConsentAnswer{}, err
		}
		defer spinner.Pause()()
		line, ended, err := askLine(ctx, s.In, s.Err, consentQuestion(&q))
		if err != nil || !ended {
			gone = true // a read that was given up would take the next answer
			return host.ConsentAnswer{}, errors.Join(err, errors.New("there was no answer"))
		}
		a := host.ConsentAnswer{By: "terminal"}
		switch strings.ToLower(line) {
		case "y", "yes":
			a.Yes = true
		case "a", "always":
			a.Yes, a.Always = true, true
		}
		return a, nil
	}
}

func consentQuestion(q *host.ConsentQuestion) string {
	who := "This command"
	if q.Caller == host.Script {
		who = "The script"
	}
	why := ""
	if q.Adapter {
		why = " (the adapter asks for consent once in a session)"
	}
	return fmt.Sprintf("%s calls %s/%s%s with\n  %s\nMay it? [y]es, [N]o, [a]lways (also for scripts and models): ", who, visible(q.Server), visible(q.Tool), why, q.Shown())
}
