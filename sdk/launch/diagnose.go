package launch

import (
	"bufio"
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// diagnose says what about the file at path keeps it from being started here, or
// "" when nothing is to be seen. It looks only after a start has failed: a system
// may well run foreign files (binfmt_misc, Rosetta).
func diagnose(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case err != nil:
		return err.Error()
	case info.IsDir():
		return "it is a directory"
	case !info.Mode().IsRegular():
		return "it is no regular file (" + info.Mode().String() + ")"
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
		return "it is not executable (" + info.Mode().String() + "); chmod +x makes it so"
	case info.Size() == 0:
		return "it is an empty file"
	}
	f, err := os.Open(path)
	if err != nil {
		return "" // executable but not readable: nothing to be seen
	}
	defer f.Close()
	return diagnoseFormat(f, runtime.GOOS, runtime.GOARCH)
}

// program is what a file's header says of where it runs.
type program struct {
	format, system, arch string
	loader               string // the dynamic loader it asks for
}

func diagnoseFormat(f io.ReaderAt, goos, goarch string) string {
	magic := make([]byte, 2)
	if _, err := f.ReadAt(magic, 0); err == nil && bytes.Equal(magic, []byte("#!")) {
		return diagnoseScript(f)
	}
	b, ok := readBinary(f, goarch)
	if !ok {
		return "it is neither a program nor a script"
	}
	want := map[string]string{"windows": "PE", "darwin": "Mach-O"}[goos]
	if want == "" {
		want = "ELF"
	}
	switch {
	case b.format != want:
		return fmt.Sprintf("it is a %s program (%s) and this is %s/%s: install the build for this system", b.system, b.format, goos, goarch)
	case b.arch != goarch:
		return fmt.Sprintf("it is built for %s (%s) and this is %s/%s: install the build for this system", b.arch, b.format, goos, goarch)
	case b.loader != "":
		if _, err := os.Stat(b.loader); errors.Is(err, fs.ErrNotExist) {
			return fmt.Sprintf("it needs the dynamic loader %s, which is not there: install a static build", b.loader)
		}
	}
	return ""
}

// readBinary reads the header; of a Mach-O file for several machines it reports
// goarch when that is among them.
func readBinary(f io.ReaderAt, goarch string) (program, bool) {
	if file, err := elf.NewFile(f); err == nil {
		arch := map[elf.Machine]string{
			elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_ARM: "arm", elf.EM_RISCV: "riscv64",
			elf.EM_PPC64: "ppc64", elf.EM_S390: "s390x", elf.EM_LOONGARCH: "loong64", elf.EM_MIPS: "mips",
		}[file.Machine]
		if arch == "ppc64" && file.Data == elf.ELFDATA2LSB {
			arch = "ppc64le"
		}
		if arch == "mips" && strings.HasPrefix(goarch, "mips") {
			arch = goarch // four of them, one machine
		}
		if arch == "" {
			arch = file.Machine.String()
		}
		b := program{format: "ELF", system: "Linux", arch: arch}
		for _, prog := range file.Progs {
			if prog.Type == elf.PT_INTERP && prog.Filesz < 4096 {
				name := make([]byte, prog.Filesz)
				if _, err := prog.ReadAt(name, 0); err == nil {
					b.loader = string(bytes.TrimRight(name, "\x00"))
				}
			}
		}
		return b, true
	}
	if fat, err := macho.NewFatFile(f); err == nil {
		b := program{format: "Mach-O", system: "macOS"}
		for _, arch := range fat.Arches {
			if b.arch == "" || machoArch(arch.Cpu) == goarch {
				b.arch = machoArch(arch.Cpu)
			}
		}
		return b, true
	}
	if file, err := macho.NewFile(f); err == nil {
		return program{format: "Mach-O", system: "macOS", arch: machoArch(file.Cpu)}, true
	}
	if file, err := pe.NewFile(f); err == nil {
		arch := map[uint16]string{
			pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64", pe.IMAGE_FILE_MACHINE_I386: "386", pe.IMAGE_FILE_MACHINE_ARMNT: "arm",
		}[file.Machine]
		if arch == "" {
			arch = fmt.Sprintf("machine %#x", file.Machine)
		}
		return program{format: "PE", system: "Windows", arch: arch}, true
	}
	return program{}, false
}

func machoArch(cpu macho.Cpu) string {
	switch cpu {
	case macho.CpuAmd64:
		return "amd64"
	case macho.CpuArm64:
		return "arm64"
	default:
		return cpu.String()
	}
}

// diagnoseScript checks the interpreter of a "#!" line.
func diagnoseScript(f io.ReaderAt) string {
	line, _ := bufio.NewReader(io.NewSectionReader(f, 2, 256)).ReadString('\n')
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return "it is a script whose #! line names no interpreter"
	}
	if _, err := os.Stat(fields[0]); errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("it is a script for %s, which is not there", fields[0])
	}
	return ""
}
