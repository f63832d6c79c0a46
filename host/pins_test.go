package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
)

// What a person accepts is there again in a host that runs.
func TestAcceptedWhileItServes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mcp.toml")
	write := func(more string) {
		t.Helper()
		text := "[servers.n]\ncommand = \"" + filepath.Join(built, "faultserver") + "\"\non_change = \"block\"\n" + more
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opt := host.Options{ConfigFiles: []string{file}, PluginDirs: []string{built}, StateDir: filepath.Join(dir, "state"), CacheDir: filepath.Join(dir, "cache")}
	rugs := func(h *host.Host) (names []string) {
		t.Helper()
		list, err := h.Tools(t.Context(), host.Query{Pattern: "n/rug"})
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		return names
	}
	write("")
	first, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if got := rugs(first); !slices.Equal(got, []string{"n/rug"}) {
		t.Fatalf("at first use: %v", got)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	write("args = [\"-fault\", \"rugged\"]\n")
	serving := follow(t, opt).h
	if got := rugs(serving); len(got) != 0 {
		t.Fatalf("rewritten, and there: %v", got)
	}
	listed := make(chan struct{}, 10)
	defer serving.Subscribe(func(e host.Event) {
		if e.CatalogChanged != nil {
			select {
			case listed <- struct{}{}:
			default:
			}
		}
	})()
	person, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	reviews, err := person.ReviewTools(t.Context(), []string{"n"}, time.Minute)
	if err != nil || len(reviews) != 1 || !slices.Equal(reviews[0].Rewritten, []string{"rug"}) || len(reviews[0].New)+len(reviews[0].Missing) > 0 {
		t.Fatalf("%+v, %v", reviews, err)
	}
	if err := person.AcceptTools(t.Context(), &reviews[0], reviews[0].Rewritten); err != nil {
		t.Fatal(err)
	}
	select {
	case <-listed:
	case <-time.After(30 * time.Second):
		t.Fatal("it was not noticed")
	}
	if got := rugs(serving); !slices.Equal(got, []string{"n/rug"}) {
		t.Errorf("accepted: %v", got)
	}
}
