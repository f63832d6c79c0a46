package launch

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/collet-dev/collet/sdk/failure"
)

// elfHeader is the smallest file that is a program for machine.
func elfHeader(machine elf.Machine) []byte {
	var b bytes.Buffer
	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}
	_ = binary.Write(&b, binary.LittleEndian, elf.Header64{
		Ident: ident, Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Phentsize: 56, Shentsize: 64,
	})
	return b.Bytes()
}

// machoHeader is one for arm64 macOS, peHeader one for amd64 Windows.
func machoHeader() []byte {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, []uint32{0xfeedfacf, 0x0100000c, 0, 2, 0, 0, 0, 0})
	return b.Bytes()
}

func peHeader() []byte {
	b := make([]byte, 256)
	copy(b, "MZ")
	b[0x3c] = 0x80
	copy(b[0x80:], "PE\x00\x00\x64\x86")
	return b
}

func TestDiagnoseFormat(t *testing.T) {
	for _, test := range []struct {
		name string
		file []byte
		want string // "" = nothing to be seen
	}{
		{"right", elfHeader(elf.EM_X86_64), ""},
		{"wrong architecture", elfHeader(elf.EM_AARCH64), "built for arm64"},
		{"unknown architecture", elfHeader(elf.EM_SPARCV9), "EM_SPARCV9"},
		{"macOS", machoHeader(), "macOS program"},
		{"Windows", peHeader(), "Windows program"},
		{"script", []byte("#!/bin/sh\nexit\n"), ""},
		{"script of nobody", []byte("#! /nowhere/python3 -u\n"), "/nowhere/python3"},
		{"script of nothing", []byte("#!\n"), "no interpreter"},
		{"text", []byte("hello"), "neither a program nor a script"},
		{"one byte", []byte("x"), "neither a program nor a script"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := diagnoseFormat(bytes.NewReader(test.file), "linux", "amd64")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got := diagnoseFormat(bytes.NewReader(machoHeader()), "darwin", "arm64"); got != "" {
		t.Errorf("on macOS: %q", got)
	}
}

func FuzzDiagnoseFormat(f *testing.F) {
	for _, seed := range [][]byte{elfHeader(elf.EM_X86_64), machoHeader(), peHeader(), []byte("#!/bin/sh\n"), nil} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, b []byte) { diagnoseFormat(bytes.NewReader(b), "linux", "amd64") })
}

func TestCannotBeStarted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the files are Linux programs")
	}
	dir := t.TempDir()
	write := func(name string, content []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := elf.EM_AARCH64
	if runtime.GOARCH == "arm64" {
		foreign = elf.EM_X86_64
	}
	for _, test := range []struct{ path, says string }{
		{filepath.Join(dir, "missing"), "there is no such file"},
		{dir, "it is a directory"},
		{write("mode", []byte("#!/bin/sh\n"), 0o600), "not executable (-rw-------)"},
		{write("empty", nil, 0o700), "empty file"},
		{write("text", []byte("hello"), 0o700), "neither a program nor a script"},
		{write("foreign", elfHeader(foreign), 0o700), "built for"},
		{write("script", []byte("#!/nowhere/sh\n"), 0o700), "/nowhere/sh"},
		{write("exits", []byte("#!/bin/sh\necho this is not a plugin >&2\nexit 3\n"), 0o700), "this is not a plugin"},
	} {
		_, err := Start(t.Context(), Spec{Path: test.path, Env: ShortEnv(os.Environ())})
		var f *failure.Failure
		if !errors.As(err, &f) || f.Class != failure.ConnectionRefused || f.Delivery != failure.NotSent {
			t.Errorf("%s: %v", test.path, err)
			continue
		}
		for _, text := range []string{test.path, test.says} {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("the message lacks %q: %v", text, err)
			}
		}
	}
}
