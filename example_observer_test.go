package strictkv_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/strictkv/strictkv"
)

func ExampleWithObserver() {
	var requests atomic.Int64 // observers are called by several goroutines
	db := openExample(strictkv.WithObserver(strictkv.Observer{
		TxEnd: func(_ context.Context, e strictkv.TxEnd) {
			fmt.Println(e.Name, e.Runs, "run,", e.Requests, "requests,", e.Rounds, "rounds", e.Err)
		},
		RequestEnd: func(context.Context, strictkv.RequestEnd) { requests.Add(1) },
	}))
	defer db.Close(ctx)
	users := db.Collection([]byte("users"))
	requests.Store(0)
	must(db.Tx(ctx, func(tx *strictkv.Tx) error {
		if _, err := tx.Read(users, []byte("alice")); err == nil {
			return nil
		}
		return tx.Write(users, []byte("alice"), []byte("Alice"))
	}, strictkv.Named("sign up")))
	fmt.Println(requests.Load())
	// Output:
	// sign up 1 run, 2 requests, 2 rounds <nil>
	// 2
}

func ExampleRequestBegin_Key() {
	o := strictkv.Observer{
		RequestEnd: func(_ context.Context, e strictkv.RequestEnd) {
			if key, ok := e.Key(); ok && e.Op == strictkv.OpPut {
				fmt.Printf("%s of %q: %d bytes\n", e.Op, key.Key, e.BytesWritten)
			}
		},
	}
	db := openExample(strictkv.WithObserver(o))
	defer db.Close(ctx)
	must(db.Collection([]byte("users")).Write(ctx, []byte("alice"), []byte("Alice")))
	// Output:
	// put of "alice": 60 bytes
}

func ExampleNamed() {
	db := openExample(strictkv.WithObserver(strictkv.Observer{
		TxBegin: func(ctx context.Context, e strictkv.TxBegin) context.Context {
			fmt.Println(e.Kind, e.Name)
			return ctx
		},
	}))
	defer db.Close(ctx)
	must(db.View(ctx, func(*strictkv.Tx) error { return nil }, strictkv.Named("report")))
	// Output:
	// view report
}

func ExampleOp_String() {
	fmt.Println(strictkv.OpGet, strictkv.OpList)
	// Output: get list
}

func ExampleTxKind_String() {
	fmt.Println(strictkv.KindTx, strictkv.KindView, strictkv.KindRead)
	// Output: tx view read
}

func ExampleTxOutcome_String() {
	fmt.Println(strictkv.OutcomeCommitted, strictkv.OutcomeInDoubt)
	// Output: committed in_doubt
}

func ExampleObjectKind_String() {
	fmt.Println(strictkv.ObjectCell, strictkv.ObjectListing)
	// Output: cell listing
}

func ExampleRequestResult_String() {
	fmt.Println(strictkv.ResultOK, strictkv.ResultRefused)
	// Output: ok refused
}

func ExampleProtocol_String() {
	fmt.Println(strictkv.NoProtocol, strictkv.Direct, strictkv.Locked)
	// Output: none direct locked
}

func ExampleAttemptOutcome_String() {
	fmt.Println(strictkv.AttemptRefused, strictkv.AttemptInDoubt)
	// Output: refused in_doubt
}

func ExampleWaitFor_String() {
	fmt.Println(strictkv.WaitForTx, strictkv.WaitForTurn)
	// Output: tx turn
}

func ExampleWaitOutcome_String() {
	fmt.Println(strictkv.WaitOver, strictkv.WaitKilled)
	// Output: over killed
}

func ExampleTask_String() {
	fmt.Println(strictkv.TaskSweep, strictkv.TaskResolve)
	// Output: sweep resolve
}

func ExampleTask_Background() {
	fmt.Println(strictkv.TaskSweep.Background(), strictkv.TaskResolve.Background())
	// Output: false true
}
