package backup_test

import (
	"context"
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/backup"
)

var ctx = context.Background()

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// example is a database with a key, and a repository with a backup of it.
func example() (*strictkv.DB, *backup.Repository) {
	db, err := strictkv.Open(ctx, "example", memory.New())
	must(err)
	must(db.Collection([]byte("users")).Write(ctx, []byte("alice"), []byte("100")))
	r, err := backup.Open(memory.New(), backup.Options{Compress: true})
	must(err)
	_, err = r.Backup(ctx, db, backup.BackupOptions{})
	must(err)
	return db, r
}

func ExampleOpen() {
	_, err := backup.Open(memory.New(), backup.Options{}) // or a bucket of another cloud
	fmt.Println(err)
	// Output: <nil>
}

func ExampleRepository_Backup() {
	db, r := example()
	must(db.Collection([]byte("users")).Write(ctx, []byte("bob"), []byte("50")))
	info, err := r.Backup(ctx, db, backup.BackupOptions{Incremental: true})
	fmt.Println(info.Keys, info.Layers, err)
	// Output: 2 2 <nil>
}

func ExampleRepository_List() {
	_, r := example()
	all, err := r.List(ctx)
	fmt.Println(len(all), err)
	// Output: 1 <nil>
}

func ExampleRepository_Verify() {
	_, r := example()
	_, err := r.Verify(ctx, "") // the last one
	fmt.Println(err)
	// Output: <nil>
}

func ExampleRepository_Restore() {
	_, r := example()
	empty, err := strictkv.Open(ctx, "restored", memory.New())
	must(err)
	report, err := r.Restore(ctx, "", empty, backup.RestoreOptions{})
	fmt.Println(report.Inserted, err)
	v, err := empty.Collection([]byte("users")).Read(ctx, []byte("alice"))
	fmt.Printf("%s %v\n", v, err)
	// Output:
	// 1 <nil>
	// 100 <nil>
}

func ExampleRepository_Prune() {
	db, r := example()
	_, err := r.Backup(ctx, db, backup.BackupOptions{})
	must(err)
	removed, err := r.Prune(ctx, backup.PruneOptions{Rule: backup.Rule{Daily: 1}})
	fmt.Println(len(removed), err)
	// Output: 1 <nil>
}

func ExampleDefaultRule() {
	fmt.Printf("%+v\n", backup.DefaultRule())
	// Output: {Daily:7 Weekly:4 Monthly:12}
}

func ExampleRule_Kept() {
	day := func(d int) backup.Info {
		return backup.Info{Instant: time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC)}
	}
	for _, info := range (backup.Rule{Daily: 2}).Kept([]backup.Info{day(1), day(2), day(3)}) {
		fmt.Println(info.Instant.Format(time.DateOnly))
	}
	// Output:
	// 2026-11-02
	// 2026-11-03
}

func ExampleOptions_Keys() {
	var o backup.Options
	err := o.Keys("age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p", "")
	fmt.Println(len(o.Recipients), err)
	// Output: 1 <nil>
}
