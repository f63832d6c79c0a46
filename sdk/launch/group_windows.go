package launch

import (
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// pipeWait bounds how long the end of a process waits for the end of its pipes.
const pipeWait = 300 * time.Millisecond

// leadSession keeps a Ctrl-C at the host's console from the child.
func leadSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// group is a job object that dies with its last handle, which is ours: the
// system kills the whole tree when the host is gone, however it died.
type group struct{ job windows.Handle }

// adopt puts the process into a job. What it started in the few microseconds
// before is not in it.
func adopt(p *os.Process) (group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return group{}, os.NewSyscallError("CreateJobObject", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	if _, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err == nil {
		var process windows.Handle
		process, err = windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid))
		if err == nil {
			err = windows.AssignProcessToJobObject(job, process)
			_ = windows.CloseHandle(process)
		}
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return group{}, os.NewSyscallError("AssignProcessToJobObject", err)
	}
	return group{job: job}, nil
}

func (g group) kill() { _ = windows.TerminateJobObject(g.job, 1) }

func (g group) sweep() { g.kill() }

func (g group) release() { _ = windows.CloseHandle(g.job) }

func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// stopReading closes f when its writers, all killed with the job, have not let
// go of it in time: Windows pipes have no read deadline.
func stopReading(f *os.File) { time.AfterFunc(pipeWait, func() { _ = f.Close() }) }

func readRest(*os.File, []byte, sink) {}
