package queue_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/layers/queue"
)

var ctx = context.Background()

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// example opens a queue in memory.
func example(o queue.Options) (*queue.Queue, *strictkv.DB) {
	db, err := strictkv.Open(ctx, "example", memory.New()) // or folder.New, gcs.New
	must(err)
	q, err := queue.New(db, db.Collection([]byte("mail")), o)
	must(err)
	return q, db
}

// claimed enqueues a job, and claims it.
func claimed(q *queue.Queue, payload string) *queue.Job {
	_, err := q.Enqueue(ctx, []byte(payload))
	must(err)
	job, err := q.Claim(ctx)
	must(err)
	return job
}

// damage leaves something in the example's queue that is no job.
func damage(db *strictkv.DB) {
	jobs := db.Collection([]byte("mail")).Collection([]byte("jobs"))
	must(jobs.Write(ctx, []byte("\x00\x00\x00\x00\x00\x00\x00\x00job 1"), []byte("\x01torn")))
}

func ExampleNew() {
	db, err := strictkv.Open(ctx, "example", memory.New())
	must(err)
	defer db.Close(ctx)
	mails := db.Collection([]byte("mail"))
	_, err = queue.New(db, mails, queue.Options{Lease: time.Minute, Attempts: 5})
	fmt.Println(err)
	_, err = queue.New(db, mails, queue.Options{Lease: time.Hour})
	fmt.Println(err)
	// Output:
	// <nil>
	// queue: lease of 1h0m0s, not 1s to 10m0s: invalid call
}

// A consumer's whole loop: jobs are completed, and tried again if they fail.
func ExampleQueue_Work() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	_, err := q.Enqueue(ctx, []byte("to alice"))
	must(err)
	working, stop := context.WithCancel(ctx)
	err = q.Work(working, func(_ context.Context, j *queue.Job) error {
		fmt.Println("send", string(j.Payload))
		stop() // an example has an end
		return nil
	})
	fmt.Println(err)
	// Output:
	// send to alice
	// context canceled
}

func ExampleQueue_Enqueue() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	id, err := q.Enqueue(ctx, []byte("to alice"))
	must(err)
	job, err := q.Claim(ctx)
	must(err)
	fmt.Println(job.ID == id, string(job.Payload))
	// Output: true to alice
}

// The mail is sent if and only if the user is there.
func ExampleQueue_EnqueueTx() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	users := db.Collection([]byte("users"))
	must(db.Tx(ctx, func(tx *strictkv.Tx) error {
		if err := tx.Insert(users, []byte("alice"), []byte("alice@example.com")); err != nil {
			return err
		}
		_, err := q.EnqueueTx(tx, []byte("welcome alice"))
		return err
	}))
	fmt.Println(q.Len(ctx))
	// Output: 1 <nil>
}

func ExampleAfter() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	_, err := q.Enqueue(ctx, []byte("remind alice"), queue.After(24*time.Hour))
	must(err)
	_, err = q.Claim(ctx)
	fmt.Println(err)
	// Output: queue: no job is due
}

func ExampleAt() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	_, err := q.Enqueue(ctx, []byte("greet"), queue.At(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)))
	must(err)
	_, err = q.Claim(ctx)
	fmt.Println(err)
	// Output: queue: no job is due
}

func ExampleQueue_Len() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	_, err := q.Enqueue(ctx, []byte("to alice"))
	must(err)
	fmt.Println(q.Len(ctx))
	// Output: 1 <nil>
}

func ExampleQueue_Claim() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	_, err := q.Claim(ctx)
	fmt.Println(errors.Is(err, queue.ErrEmpty))
	job := claimed(q, "to alice")
	fmt.Println(string(job.Payload), job.Attempt)
	_, err = q.Claim(ctx)
	fmt.Println(errors.Is(err, queue.ErrEmpty), "somebody has it")
	// Output:
	// true
	// to alice 1
	// true somebody has it
}

func ExampleJob_Complete() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	job := claimed(q, "to alice")
	fmt.Println(job.Complete(ctx))
	fmt.Println(errors.Is(job.Complete(ctx), queue.ErrLost))
	// Output:
	// <nil>
	// true
}

// The bill is written once, however often the job is run.
func ExampleJob_CompleteTx() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	job, bills := claimed(q, "bill alice"), db.Collection([]byte("bills"))
	bill := func(tx *strictkv.Tx) error {
		if err := job.CompleteTx(tx); err != nil {
			return err
		}
		return tx.Write(bills, []byte(job.ID), []byte("alice: 10"))
	}
	fmt.Println(db.Tx(ctx, bill))
	fmt.Println(errors.Is(db.Tx(ctx, bill), queue.ErrLost))
	// Output:
	// <nil>
	// true
}

func ExampleJob_Extend() {
	q, db := example(queue.Options{Lease: time.Minute})
	defer db.Close(ctx)
	job := claimed(q, "a long film")
	before := job.Deadline()
	must(job.Extend(ctx))
	fmt.Println(job.Deadline().After(before))
	// Output: true
}

func ExampleJob_Deadline() {
	q, db := example(queue.Options{Lease: time.Minute})
	defer db.Close(ctx)
	fmt.Println(time.Until(claimed(q, "to alice").Deadline()).Round(time.Minute))
	// Output: 1m0s
}

func ExampleJob_Retry() {
	q, db := example(queue.Options{Backoff: func(int) time.Duration { return 0 }})
	defer db.Close(ctx)
	job := claimed(q, "to alice")
	must(job.Retry(ctx, errors.New("mailbox is full")))
	job, err := q.Claim(ctx)
	must(err)
	fmt.Println(job.Attempt, job.Failure)
	// Output: 2 mailbox is full
}

func ExampleDefaultBackoff() {
	fmt.Println(queue.DefaultBackoff(1), queue.DefaultBackoff(5), queue.DefaultBackoff(20))
	// Output: 1s 16s 1h0m0s
}

func ExampleJob_Release() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	must(claimed(q, "to alice").Release(ctx)) // this process is to stop
	job, err := q.Claim(ctx)
	must(err)
	fmt.Println(string(job.Payload), job.Attempt)
	// Output: to alice 1
}

func ExampleJob_Bury() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	must(claimed(q, "to nobody").Bury(ctx, errors.New("no such address")))
	for letter, err := range q.Dead(ctx) {
		fmt.Println(string(letter.Payload), letter.Failure, err)
	}
	// Output: to nobody no such address <nil>
}

func ExampleQueue_Dead() {
	q, db := example(queue.Options{Attempts: 1})
	defer db.Close(ctx)
	must(claimed(q, "to nobody").Retry(ctx, errors.New("no such address")))
	for letter, err := range q.Dead(ctx) {
		fmt.Println(string(letter.Payload), letter.Attempts, err)
	}
	// Output: to nobody 1 <nil>
}

func ExampleQueue_Unread() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	damage(db)
	for job, err := range q.Unread(ctx) {
		fmt.Println(job.ID, errors.Is(job.Damage, strictkv.ErrCorrupt), err)
	}
	// Output: job 1 true <nil>
}

func ExampleQueue_BuryUnread() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	damage(db)
	_, err := q.Claim(ctx)
	fmt.Println(err)
	must(q.BuryUnread(ctx, "job 1"))
	for letter, err := range q.Dead(ctx) {
		fmt.Printf("%s: %q %v\n", letter.ID, letter.Payload, err)
	}
	// Output:
	// claim: queue: the value of job job 1 is damaged: corrupt object
	// job 1: "\x01torn" <nil>
}

func ExampleQueue_Revive() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	job := claimed(q, "to alice")
	must(job.Bury(ctx, errors.New("out of order")))
	must(q.Revive(ctx, job.ID))
	job, err := q.Claim(ctx)
	must(err)
	fmt.Println(string(job.Payload))
	// Output: to alice
}

func ExampleQueue_Discard() {
	q, db := example(queue.Options{})
	defer db.Close(ctx)
	job := claimed(q, "to nobody")
	must(job.Bury(ctx, errors.New("no such address")))
	fmt.Println(q.Discard(ctx, job.ID), q.Discard(ctx, job.ID))
	// Output: <nil> <nil>
}
