package content

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestPrint(t *testing.T) {
	tests := []struct{ name, result, want string }{
		{"text", `{"content":[{"type":"text","text":"a<b>\u001b[1m"}]}`, "a<b>\x1b[1m\n"},
		{"each block ends its line once", `{"content":[{"type":"text","text":"a\n"},{"type":"text","text":"b"},{"type":"text","text":""}]}`, "a\nb\n\n"},
		{"link", `{"content":[{"type":"resource_link","name":"n","uri":"x://y"}]}`, "n x://y\n"},
		{"link without a name", `{"content":[{"type":"resource_link","uri":"x://y"}]}`, "x://y\n"},
		{"embedded text", `{"content":[{"type":"resource","resource":{"uri":"x://y","text":"inside"}}]}`, "inside\n"},
		{"embedded blob", `{"content":[{"type":"resource","resource":{"uri":"x://y","blob":"AAEC"}}]}`, "[resource x://y 3 bytes]\n"},
		{"embedded nothing", `{"content":[{"type":"resource","resource":{"uri":"x://y"}}]}`, "[resource x://y left out: it has neither text nor blob]\n"},
		{"image", `{"content":[{"type":"image","mimeType":"image/png","data":"AAEC"}]}`, "[image image/png 3 bytes]\n"},
		{"broken image", `{"content":[{"type":"image","mimeType":"image/png","data":"*"}]}`, "[image image/png left out: its data is not base64]\n"},
		{"unknown", `{"content":[{"type":"hologram","beam":1},{"type":"text","text":"t"}]}`,
			"[hologram block left out, 28 bytes: this version of collet does not know it; --json shows it]\nt\n"},
		{"no type", `{"content":[{"beam":1},5]}`, "[a block without a type left out; --json shows it]\n[a block without a type left out; --json shows it]\n"},
		{"structured only", `{"content":[],"structuredContent":{"big":9007199254740993, "one":1.0}}`, `{"big":9007199254740993, "one":1.0}` + "\n"},
		{"no content at all", `{"structuredContent":[1]}`, "[1]\n"},
		{"content first", `{"content":[{"type":"text","text":"t"}],"structuredContent":{}}`, "t\n"},
		{"text that is no string", `{"content":[{"type":"text","text":5}]}`, "5\n"},
		{"a string as content", `{"content":"just text"}`, "just text\n"},
		{"nothing", `{"content":[]}`, ""},
		{"no object", `[1,2]`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Print(&out, json.RawMessage(test.result), nil); err != nil {
				t.Fatal(err)
			}
			if out.String() != test.want {
				t.Errorf("got %q, want %q", out.String(), test.want)
			}
		})
	}
}

const twoImages = `{"content":[{"type":"image","mimeType":"image/png","data":"AAEC"},{"type":"audio","mimeType":"../../x","data":"AA=="}]}`

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "out")
	taken := filepath.Join(dir, "evil-1.png")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(taken, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := OpenFiles(dir, "../../evil")
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	var out bytes.Buffer
	if err := Print(&out, json.RawMessage(twoImages), files); err != nil {
		t.Fatal(err)
	}
	image, audio := filepath.Join(dir, "evil-2.png"), filepath.Join(dir, "evil-3.bin")
	if want := "[image image/png 3 bytes saved to " + image + "]\n[audio ../../x 1 bytes saved to " + audio + "]\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	for path, want := range map[string]string{image: "\x00\x01\x02", audio: "\x00", taken: "mine"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", path, got, err)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 3 {
		t.Errorf("%d files", len(list))
	}
}

func TestFilesDoNotFollowLinks(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	if err := os.Symlink(outside, filepath.Join(dir, "x-1.png")); err != nil {
		t.Skip(err)
	}
	files, err := OpenFiles(dir, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	lines, err := Save(json.RawMessage(twoImages), files)
	if err != nil || len(lines) != 2 {
		t.Fatal(lines, err)
	}
	if _, err := os.Stat(outside); !errors.Is(err, os.ErrNotExist) {
		t.Error("a link out of the directory was followed")
	}
}
