// Package backup keeps backups of databases in a bucket or a directory: of one instant each, full
// or incremental, compressed and encrypted if wanted. They are snapshots of package
// layers/snapshot, with a list of them.
//
//	r, err := backup.Open(target, backup.Options{})
//	info, err := r.Backup(ctx, db, backup.BackupOptions{Incremental: true})
//	report, err := r.Restore(ctx, info.Name, empty, backup.RestoreOptions{})
//
// Whatever is read is compared with its hash. A process that dies leaves no half backup, and the
// same call made again sends what is missing. docs/operations.md has a drill.
package backup
