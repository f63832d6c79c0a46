package pins

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// This program is started again as a process that remembers tools.
func TestMain(m *testing.M) {
	if config := os.Getenv("REMEMBER_IN"); config != "" {
		os.Exit(rememberTools(config, os.Getenv("REMEMBER_AS")))
	}
	os.Exit(m.Run())
}

// each is how many tools a process remembers, one write for each.
const each = 20

func rememberTools(config, name string) int {
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil { // all begin at once
		return 1
	}
	k := &Keeper{StateDir: filepath.Join(filepath.Dir(config), "state")}
	for i := range each {
		refused, err := k.Remember(context.Background(), config, "s", map[string]string{
			fmt.Sprintf("%s%d", name, i): sumOf("a"), "shared": sumOf(name),
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if len(refused) == 0 && i == 0 {
			fmt.Println("first")
		}
	}
	return 0
}

func sumOf(text string) string { return Digest(fmt.Appendf(nil, "%q", text)) }

// Processes that write at once lose nothing of each other's, and of what they do not
// agree on the first one's word counts for all.
func TestProcessesWriteAtOnce(t *testing.T) {
	config := filepath.Join(t.TempDir(), "mcp.toml")
	const processes = 6
	var cmds []*exec.Cmd
	var outs []*bytes.Buffer
	var gates []func() error
	for i := range processes {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "REMEMBER_IN="+config, fmt.Sprintf("REMEMBER_AS=p%d_", i))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds, outs = append(cmds, cmd), append(outs, &out)
		gates = append(gates, func() error { _, err := in.Write([]byte("\n")); return err })
	}
	for _, open := range gates {
		if err := open(); err != nil {
			t.Fatal(err)
		}
	}
	first := 0
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		first += strings.Count(outs[i].String(), "first")
	}
	_, l, err := read(filepath.Join(filepath.Dir(config), "mcp.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(l.Servers["s"].Tools); n != processes*each+1 {
		t.Errorf("%d tools are remembered of %d", n, processes*each+1)
	}
	if first != 1 {
		t.Errorf("%d processes pinned the tool that they do not agree on", first)
	}
	left, err := os.ReadDir(filepath.Dir(config))
	if err != nil || len(left) != 2 {
		t.Errorf("beside mcp.lock and the state directory there is something left: %v %v", left, err)
	}
}

// The same pins are the same bytes, in an order that makes small differences.
func TestFileText(t *testing.T) {
	f := FileOf(filepath.Join(t.TempDir(), "mcp.toml"), t.TempDir())
	if err := f.Change(t.Context(), func(own *Lock, _ Locks) {
		own.SetTool("z", "<b>", sumOf("1"))
		own.SetTool("z", "a", sumOf("2"))
		own.SetPlugin("hello", sumOf("3"))
	}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{
  "about": %q,
  "version": 1,
  "plugins": {
    "hello": {
      "sha256": {
        %q: %q
      }
    }
  },
  "servers": {
    "z": {
      "tools": {
        "<b>": %q,
        "a": %q
      }
    }
  }
}
`, about, Platform, sumOf("3"), sumOf("1"), sumOf("2"))
	if string(got) != want {
		t.Errorf("it is written as\n%s\nwant\n%s", got, want)
	}
	if err := f.Change(t.Context(), func(*Lock, Locks) {}); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(f.Path); err != nil || !bytes.Equal(got, again) {
		t.Errorf("a change of nothing has changed it: %v", err)
	}
}

// A pin of another platform stays when this one's changes.
func TestPlatformsShareAFile(t *testing.T) {
	config := filepath.Join(t.TempDir(), "mcp.toml")
	f := FileOf(config, t.TempDir())
	text := fmt.Sprintf(`{"version":1,"plugins":{"x":{"source":"github.com/a/b","version":"1.0.0","sha256":{"plan9/mips":%q}}},"servers":{}}`, sumOf("other"))
	if err := os.WriteFile(f.Path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	locks, err := f.Read()
	if err != nil || len(locks.Plugin("x")) != 0 {
		t.Fatalf("a pin of another platform counts here: %v %v", locks, err)
	}
	if err := f.Change(t.Context(), func(own *Lock, _ Locks) { own.SetPlugin("x", sumOf("mine")) }); err != nil {
		t.Fatal(err)
	}
	_, l, err := read(f.Path)
	if err != nil || l.Plugins["x"].SHA256["plan9/mips"] != sumOf("other") || l.Plugins["x"].SHA256[Platform] != sumOf("mine") || l.Plugins["x"].Version != "1.0.0" {
		t.Errorf("after a change of this platform's: %+v %v", l, err)
	}
}

// A file that cannot be used is an error that says why, and stays as it is: a plugin
// or tool that it pins must not count as new.
func TestUnusableFiles(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"empty":             {"", "damaged"},
		"cut off":           {`{"version":1,"plugins":{`, "damaged"},
		"no version":        {`{}`, "no version"},
		"a later version":   {`{"version":2,"plugins":["something else"]}`, "a newer collet wrote it"},
		"another type":      {`{"version":1,"servers":[]}`, "damaged"},
		"an unknown member": {`{"version":1,"plugin":{}}`, "damaged"},
		"a short digest":    {`{"version":1,"plugins":{"x":{"sha256":{"linux/amd64":"abcd"}}}}`, "plugins.x"},
		"no digest":         {`{"version":1,"servers":{"s":{"tools":{"t":"` + strings.Repeat("G", 64) + `"}}}}`, "servers.s"},
		"a conflict":        {"<<<<<<< HEAD\n{\"version\":1}\n", "damaged"},
	} {
		f := FileOf(filepath.Join(t.TempDir(), "mcp.toml"), t.TempDir())
		if err := os.WriteFile(f.Path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Read(); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), f.Path) {
			t.Errorf("%s: %v", name, err)
		}
		if err := f.Change(t.Context(), func(own *Lock, _ Locks) { own.SetTool("s", "t", sumOf("x")) }); err == nil {
			t.Errorf("%s: it was changed", name)
		}
		if now, err := os.ReadFile(f.Path); err != nil || string(now) != c.text {
			t.Errorf("%s: it was overwritten: %s", name, now)
		}
	}
	f := FileOf(filepath.Join(t.TempDir(), "mcp.toml"), t.TempDir())
	if err := os.Mkdir(f.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a directory: %v", err)
	}
}

// What cannot be written beside mcp.toml is written to the state directory, and both
// count.
func TestReadOnlyFile(t *testing.T) {
	f := FileOf(filepath.Join(t.TempDir(), "mcp.toml"), t.TempDir())
	text := fmt.Sprintf(`{"version":1,"plugins":{"x":{"sha256":{%q:%q}}},"servers":{"s":{"tools":{"a":%q}}}}`, Platform, sumOf("1"), sumOf("1"))
	if err := os.WriteFile(f.Path, []byte(text), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := f.Change(t.Context(), func(own *Lock, all Locks) {
		if known, _ := all.Tool("s", "a", ""); !known {
			t.Error("what the file beside says does not count")
		}
		own.SetTool("s", "b", sumOf("1"))
		own.SetTool("s", "a", sumOf("2"))
		own.SetPlugin("x", sumOf("2"))
	}); err != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(f.Path); err != nil || string(now) != text {
		t.Errorf("the read-only file was changed: %s %v", now, err)
	}
	locks, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	for tool, digest := range map[string]string{"a": sumOf("1"), "b": sumOf("1")} {
		if known, same := locks.Tool("s", tool, digest); !known || !same {
			t.Errorf("%s is not accepted", tool)
		}
	}
	if _, same := locks.Tool("s", "a", sumOf("2")); !same {
		t.Error("what was accepted later is not")
	}
	if _, same := locks.Tool("s", "a", sumOf("3")); same {
		t.Error("anything is accepted")
	}
	if got := locks.Plugin("x"); len(got) != 2 {
		t.Errorf("the plugin's pins are %v", got)
	}
}

// FuzzParse: whatever is in a file, it is refused or read, and what was read is
// written and read back as the same.
func FuzzParse(f *testing.F) {
	l := &Lock{}
	l = l.clone()
	l.SetPlugin("x", sumOf("1"))
	l.SetTool("s", "t", sumOf("2"))
	text, err := encode(l)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`{"version":1,"servers":{"":{"tools":null},"a":{}},"plugins":{"p":{}}}`))
	f.Add([]byte(`{"version":1e0}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := parse(data)
		if err != nil {
			return
		}
		l = l.clone()
		_, _ = (Locks{l, {}}).Tool("s", "t", "")
		_ = (Locks{l, {}}).Plugin("x")
		once, err := encode(l)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parse(once)
		if err != nil {
			t.Fatalf("%s\nis written as\n%s\nwhich cannot be read: %v", data, once, err)
		}
		if twice, err := encode(again.clone()); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s\nis read back as\n%s", once, twice)
		}
	})
}
