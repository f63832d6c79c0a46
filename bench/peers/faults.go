package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/collet-dev/collet/bench/internal/load"
)

// abandoned is how long after the end of a gateway its servers may still be there.
const abandoned = 5 * time.Second

// measureFaults is what a gateway's client sees when one server never answers or
// dies, and what becomes of the servers when the gateway dies.
func (f *field) measureFaults(ctx context.Context, g gateway, figures *gatewayFigures) error {
	with := append(echoes(servers), behind{name: "mute", args: []string{"-mute"}})
	switch s, err := f.start(ctx, g, with, servers); {
	case err == nil:
		figures.beside = s.first
		s.close()
	case !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
		return err
	}
	s, err := f.start(ctx, g, echoes(servers), servers)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.call(ctx, s.echo, load.Echo, 100); err != nil {
		return err
	}
	_, all := s.split(f.echo)
	if figures.recovered, figures.failed, err = s.recover(ctx, all); err != nil {
		return err
	}
	return s.abandon(f.echo, figures)
}

// recover kills echo0 and calls it until it answers: how long that takes, and how
// many calls fail.
func (s *serving) recover(ctx context.Context, all []int) (took time.Duration, failed int, err error) {
	killed := false
	for _, pid := range all {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			return 0, 0, err
		}
		path, _, _ := bytes.Cut(b, []byte{0})
		if filepath.Base(string(path)) == "echo0" {
			killed = kill(pid) == nil
		}
	}
	if !killed {
		return 0, 0, errors.New("the process of echo0 cannot be found")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for begun := time.Now(); ctx.Err() == nil; failed++ {
		if s.call(ctx, s.echo, load.Echo, 100) == nil {
			return time.Since(begun), failed, nil
		}
		_ = moment(ctx)
	}
	return 0, failed, nil
}

// abandon kills the process that a client or a person has started, and looks what is
// left of its servers then. Where a daemon holds the servers it is killed with it.
func (s *serving) abandon(server string, figures *gatewayFigures) error {
	own, _ := s.split(server)
	for _, pid := range own {
		if err := kill(pid); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
	}
	for begun := time.Now(); time.Since(begun) < abandoned; time.Sleep(50 * time.Millisecond) {
		if _, left := s.split(server); len(left) == 0 {
			break
		}
	}
	_, left := s.split(server)
	figures.orphans = len(left)
	return nil
}

func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
