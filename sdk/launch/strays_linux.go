package launch

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"

	plugin "github.com/hashicorp/go-plugin"
)

// relative is a living process, as proc(5) has it.
type relative struct {
	name            string
	parent, session int
	marked          bool // its environment is of the process that was asked about
}

// Strays names the living processes that come from the process pid and have left the
// session that it leads, each as "NAME (PID)", by their PID: what ends the session does
// not end them. They are known by their parents, or by the directory of sockets that is
// in that process's environment alone; who hides both is not found. There are none of a
// process that leads no session.
func Strays(pid int) []string {
	var mark []byte
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.HasPrefix(entry, []byte(plugin.EnvUnixSocketDir+"=")) {
			mark = entry
		}
	}
	all := relatives(mark)
	if all[pid].session != pid {
		return nil
	}
	ours := map[int]bool{pid: true}
	for more := true; more; {
		more = false
		for id, r := range all {
			if !ours[id] && (r.marked || ours[r.parent]) {
				ours[id], more = true, true
			}
		}
	}
	var strays []int
	for id := range ours {
		if all[id].session != pid {
			strays = append(strays, id)
		}
	}
	slices.Sort(strays)
	out := make([]string, 0, len(strays))
	for _, id := range strays {
		out = append(out, fmt.Sprintf("%s (%d)", all[id].name, id))
	}
	return out
}

// relatives are all living processes that can be seen; mark is an entry of environments.
func relatives(mark []byte) map[int]relative {
	all := map[int]relative{}
	proc, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		id, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		r, alive := relativeOf(stat)
		if !alive {
			continue
		}
		if len(mark) > 0 {
			environ, _ := os.ReadFile("/proc/" + name + "/environ")
			r.marked = slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(entry []byte) bool { return bytes.Equal(entry, mark) })
		}
		all[id] = r
	}
	return all
}

// relativeOf reads the text of /proc/PID/stat, "pid (comm) state ppid pgrp session ...",
// where comm may hold anything; alive is false of a process that is dead already.
func relativeOf(stat []byte) (r relative, alive bool) {
	from, to := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if from < 0 || to < from {
		return r, false
	}
	fields := bytes.Fields(stat[to+1:])
	if len(fields) < 4 || bytes.ContainsAny(fields[0], "ZXx") {
		return r, false
	}
	r.name = string(stat[from+1 : to])
	r.parent, _ = strconv.Atoi(string(fields[1]))
	r.session, _ = strconv.Atoi(string(fields[3]))
	return r, true
}
