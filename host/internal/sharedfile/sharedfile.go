// Package sharedfile opens and replaces regular files while other processes have them
// open, as unix lets everybody do. On Windows whoever opens a file decides whether it
// may be renamed or removed meanwhile, and package os says no.
//
// It neither locks files nor reads them, and it makes nothing durable.
package sharedfile
