// Package launch is the host's side of one adapter process: it starts a plugin
// file, connects to it, says when and how it ended, and ends it together with
// everything it started.
//
// It never restarts a process, interprets a tool, or decides what an exit means
// for a call; whoever owns a [Process] does. It finds no plugins and checks no
// hashes: what it is given it runs.
//
// It is built on go-plugin, of which it uses the handshake, the broker and the
// wire, but not the process handling. What go-plugin gets to see is a runner
// with one line of stdout, no stderr and no power to kill.
//
// # How a process ends with its host
//
// The adapter's stdin is a pipe of which the host holds the other end and into
// which nothing is ever written (COLLET_LEASE=stdin). However the host dies, the
// kernel closes that end, and the adapter leaves after it has stopped what it
// started. There is deliberately no parent-death signal (PR_SET_PDEATHSIG): it
// would take away the one process that can stop the upstream servers below it,
// cost one locked thread for each adapter, and exist on one system only. On
// Windows a job object that dies with the host does the same for the whole tree.
// While the host lives, every exit is followed by a sweep of the whole session;
// only what has made a session of its own escapes it.
//
// # Pitfalls of go-plugin v1.8.0, and what became of each here
//
// The process boundary:
//
//   - P1, a stderr line panics the host: go-plugin's Stderr is empty, lines.go reads.
//   - P2, the host's stdin is shared: stdin is the lease pipe.
//   - P3, the environment is inherited: SkipHostEnv, and Spec.Env is complete.
//   - P4, os.Stdout and os.Stderr of the plugin vanish: both come out as log lines.
//   - P5, a long stdout line blocks the plugin: handshake.go reads and drops it.
//   - P6, text before the handshake fails the start: skipped, quoted in the error.
//   - P7, exit waits for a grandchild's stderr: own pipes, read empty after the exit.
//   - P8, Kill has no deadline: Stop asks with a deadline, then kills the session.
//   - P9, Start knows no context: it runs beside ours, and killing ends it.
//   - P10, managed clients leak: Managed is false.
//   - P11, orphans: see above.
//   - P12, signals: own session; stopping is a request or SIGKILL.
//   - P13, no graceful stop in the plugin: package adapter runs Close in the grace.
//   - P14, SecureConfig does not work with a runner: not used, see above.
//   - P15, socket files left: one private directory for each host, swept when dead.
//   - P16, socket paths too long: TMPDIR is not used, the length is checked first.
//   - P17, sockets open to others: 0700 on every directory above them, whatever the umask.
//   - P18, reflection on the socket: only the same user can reach it.
//   - P19, Diagnose is lost: diagnose.go.
//
// The RPC layer:
//
//   - R1, 4 MiB messages: wire.MaxMessage on the client and on the Host server.
//   - R2, Ping has no deadline: Healthy takes the caller's.
//   - R3, keepalive breaks long calls: there is none.
//   - R4, the text of a broken call varies: no text is read; Exit has the reason.
//   - R5, cancel works: nothing to do.
//   - R6, a hung handler does not stop Shutdown: nothing to do.
//   - R7, broker ids live 5 s, errors go to the standard logger: ServeHost is called
//     right before Configure, and serves itself.
//   - R8, broker multiplexing serialises dials: off.
//   - R9, AutoMTLS costs starts and throughput: on only on Windows (loopback TCP).
//   - R10, racy getters: not called; the handshake was checked by us.
//   - R11, reattach polls: our own attachment ends with the connection.
//   - R12, leaks: none found, and a test of a hundred cycles keeps it so.
package launch
