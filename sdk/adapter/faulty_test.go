package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
)

// faultyEnv makes this test binary the faulty plugin.
const faultyEnv = "COLLET_TEST_FAULTY"

// A plugin's init functions may print; nobody told their author not to.
func init() {
	if os.Getenv(faultyEnv) != "" {
		fmt.Println("init prints to stdout")
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(faultyEnv) != "" {
		fmt.Println("main prints to stdout")
		adapter.Main(adapter.Info{
			Name: "faulty", Version: "v1.2.3", Summary: "Breaks <things> & more.", License: "Apache-2.0",
			Environment: []string{"FAULTY"}, DefaultTimeout: time.Minute,
		}, openFaulty)
		os.Exit(0)
	}
	code := m.Run()
	if helloDir != "" {
		_ = os.RemoveAll(helloDir)
	}
	os.Exit(code)
}

// faulty starts this test binary as the faulty plugin.
func faulty(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), faultyEnv+"=1")
	return cmd
}

type faultyConfig struct {
	Closed string `json:"closed,omitempty" jsonschema:"a file that Close writes"`
	Hang   bool   `json:"hang,omitempty" jsonschema:"Close never returns"`
	Secret string `json:"secret,omitempty" collet:"secret"`
}

type faultyServer struct {
	adapter.Server
	cfg      faultyConfig
	canceled chan struct{}
}

func (s *faultyServer) Close() error {
	if s.cfg.Hang {
		select {}
	}
	if s.cfg.Closed == "" {
		return nil
	}
	return os.WriteFile(s.cfg.Closed, []byte("closed"), 0o600)
}

type none struct{}

type blob struct {
	Data string `json:"data"`
}

type amount struct {
	Bytes int `json:"bytes"`
}

type target struct {
	Resource string `json:"resource"`
}

func openFaulty(_ context.Context, env *adapter.Env, cfg faultyConfig) (adapter.Server, error) {
	var tools adapter.Tools
	s := &faultyServer{Server: &tools, cfg: cfg, canceled: make(chan struct{}, 1)}
	adapter.Add(&tools, "panic", "Panics.", func(context.Context, *adapter.Call, none) (string, error) {
		panic("as the test asked")
	})
	adapter.Add(&tools, "wait", "Waits until it is canceled.", func(ctx context.Context, call *adapter.Call, _ none) (string, error) {
		call.Progress(1, 0, "waiting")
		<-ctx.Done()
		s.canceled <- struct{}{}
		return "", ctx.Err()
	})
	adapter.Add(&tools, "await-cancel", "Returns when wait was canceled.", func(ctx context.Context, _ *adapter.Call, _ none) (string, error) {
		select {
		case <-s.canceled:
			return "canceled", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	adapter.Add(&tools, "count", "Counts the bytes.", func(_ context.Context, _ *adapter.Call, in blob) (amount, error) {
		return amount{len(in.Data)}, nil
	})
	adapter.Add(&tools, "fill", "Returns many bytes.", func(_ context.Context, _ *adapter.Call, in amount) (string, error) {
		return strings.Repeat("x", in.Bytes), nil
	})
	adapter.Add(&tools, "print", "Prints everywhere.", func(context.Context, *adapter.Call, none) (string, error) {
		fmt.Println("stdout print")
		fmt.Fprintln(os.Stderr, "stderr print")
		log.Print("log print")
		slog.Warn("slog print", "n", 7)
		env.Log.Debug("env print", "server", env.Server)
		data, err := io.ReadAll(os.Stdin)
		return string(data), err
	})
	adapter.Add(&tools, "refused", "Says that it could not.", func(context.Context, *adapter.Call, none) (string, error) {
		return "", fmt.Errorf("wrapped: %w", failure.New(failure.RateLimited, failure.Answered, "slow down"))
	})
	adapter.Add(&tools, "failed", "Says that it failed.", func(context.Context, *adapter.Call, none) (string, error) {
		return "", errors.New("no <such> thing")
	})
	adapter.Add(&tools, "token", "Asks for a token.", func(ctx context.Context, _ *adapter.Call, in target) (string, error) {
		token, err := env.Token(ctx, in.Resource, "read")
		return token.Scheme + " " + token.Value, err
	})
	adapter.Add(&tools, "ask", "Asks the client.", func(ctx context.Context, call *adapter.Call, _ none) (string, error) {
		raw, err := call.Ask(ctx, "elicitation/create", call.Args)
		return fmt.Sprint(len(raw)), err
	})
	return s, nil
}
