package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// commandRounds is how often each command is timed.
const commandRounds = 11

// cli is a program whose commands are timed.
type cli struct {
	name    string
	place   place
	version []string
	list    []string
	call    []string
	daemon  func(verb string) []string
}

// commandFigure is one line of the table: a time for each program.
type commandFigure struct {
	what  string
	times []time.Duration
}

// measureCommands times what a person types, or a script.
func (f *field) measureCommands(ctx context.Context) ([]commandFigure, error) {
	all, err := f.clis()
	if err != nil {
		return nil, err
	}
	each := func(command func(cli) []string) ([]time.Duration, error) {
		var times []time.Duration
		for _, c := range all {
			took, err := c.time(ctx, command(c))
			if err != nil {
				return nil, err
			}
			times = append(times, took)
		}
		return times, nil
	}
	daemons := func(verb string) error {
		_, err := each(func(c cli) []string { return c.daemon(verb) })
		return err
	}
	defer func() {
		for _, c := range all {
			_, _ = c.time(context.WithoutCancel(ctx), c.daemon("stop"))
		}
	}()
	alone := func() error { return daemons("stop") } // mcporter starts its daemon by itself
	var figures []commandFigure
	for _, m := range []struct {
		what    string
		before  func() error // each round
		command func(cli) []string
	}{
		{"its version", nil, func(c cli) []string { return c.version }},
		{"a call, nothing running", alone, func(c cli) []string { return c.call }},
		{fmt.Sprintf("%d servers asked for their tools, nothing running", servers), alone, func(c cli) []string { return c.list }},
		{"a call, its daemon running", func() error { return daemons("start") }, func(c cli) []string { return c.call }},
	} {
		rounds := make([][]time.Duration, len(all))
		for range commandRounds {
			if m.before != nil {
				if err := m.before(); err != nil {
					return nil, err
				}
			}
			times, err := each(m.command)
			if err != nil {
				return nil, err
			}
			for i, took := range times {
				rounds[i] = append(rounds[i], took)
			}
		}
		figure := commandFigure{what: m.what}
		for _, times := range rounds {
			figure.times = append(figure.times, median(times))
		}
		figures = append(figures, figure)
	}
	return figures, nil
}

func (f *field) clis() ([]cli, error) {
	ours, err := f.place()
	if err != nil {
		return nil, err
	}
	toml, err := f.toml(ours, echoes(servers))
	if err != nil {
		return nil, err
	}
	theirs, err := f.place()
	if err != nil {
		return nil, err
	}
	config, err := f.json(theirs, echoes(servers))
	if err != nil {
		return nil, err
	}
	collet := []string{f.collet, "--config", toml}
	mcporter := []string{f.program("mcporter"), "--config", config}
	with := func(program []string, arguments ...string) []string { return slices.Concat(program, arguments) }
	return []cli{{
		name: "collet", place: ours,
		version: with(collet, "version"),
		list:    with(collet, "tools", "list", "--refresh"),
		call:    with(collet, "tools", "call", "echo3/echo", "text=hello"),
		daemon:  func(verb string) []string { return with(collet, "daemon", verb) },
	}, {
		name: "mcporter", place: theirs,
		version: with(mcporter, "--version"),
		list:    with(mcporter, "list"),
		call:    with(mcporter, "call", "echo3.echo", "text=hello"),
		daemon:  func(verb string) []string { return with(mcporter, "daemon", verb) },
	}}, nil
}

// time runs a command, which has to succeed and, if it is a call, to say hello.
func (c cli) time(ctx context.Context, command []string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env, cmd.Dir = c.place.env, c.place.home
	// A file, because a daemon that the command starts keeps a pipe open.
	file, err := os.CreateTemp(c.place.home, "out-")
	if err != nil {
		return 0, err
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	begun := time.Now()
	err = cmd.Run()
	took := time.Since(begun)
	out, readErr := os.ReadFile(file.Name())
	if err == nil {
		err = readErr
	}
	if err == nil && slices.Equal(command, c.call) && strings.TrimSpace(string(out)) != "hello" {
		err = errors.New("it does not say hello")
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
	}
	return took, nil
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
