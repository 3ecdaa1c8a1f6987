package engine_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// callAll calls every exported method of v that returns an error, but for the
// named ones, and passes it on.
func callAll(ctx context.Context, v any, not []string, each func(method string, err error)) {
	value := reflect.ValueOf(v)
	for i := range value.NumMethod() {
		method, kind := value.Type().Method(i), value.Method(i).Type()
		n := kind.NumOut()
		if n == 0 || kind.Out(n-1) != reflect.TypeFor[error]() || contains(not, method.Name) {
			continue
		}
		in := make([]reflect.Value, kind.NumIn())
		for i := range in {
			in[i] = argument(ctx, kind.In(i))
		}
		call := value.Method(i).Call
		if kind.IsVariadic() {
			call = value.Method(i).CallSlice
		}
		err, _ := call(in)[n-1].Interface().(error)
		each(fmt.Sprintf("%T.%s", v, method.Name), err)
	}
}

// argument makes a value that a method would take while all is well.
func argument(ctx context.Context, t reflect.Type) reflect.Value {
	switch t {
	case reflect.TypeFor[context.Context]():
		return reflect.ValueOf(ctx)
	case reflect.TypeFor[string]():
		return reflect.ValueOf("name")
	case reflect.TypeFor[int](), reflect.TypeFor[int64]():
		return reflect.ValueOf(1).Convert(t)
	case reflect.TypeFor[time.Time]():
		return reflect.ValueOf(time.Unix(1, 0))
	case reflect.TypeFor[[]message.Message]():
		return reflect.ValueOf([]message.Message{{Payload: []byte("x"), Sequence: 99}})
	case reflect.TypeFor[[]sdk.Position]():
		return reflect.ValueOf([]sdk.Position{{}})
	case reflect.TypeFor[managedledger.Max]():
		return reflect.ValueOf(managedledger.Max{Entries: 1, Bytes: 1})
	case reflect.TypeFor[managedledger.Start]():
		return reflect.ValueOf(managedledger.Earliest())
	case reflect.TypeFor[engine.Config]():
		return reflect.ValueOf(engine.DefaultConfig())
	}
	if t.Kind() == reflect.Func {
		return reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value {
			out := make([]reflect.Value, t.NumOut())
			for i := range out {
				out[i] = reflect.Zero(t.Out(i))
			}
			return out
		})
	}
	return reflect.Zero(t)
}

func contains(all []string, one string) bool {
	return strings.Contains(" "+strings.Join(all, " ")+" ", " "+one+" ")
}

// used opens one of everything and uses it.
func used(t *testing.T, e *process) []any {
	topic := create(t, e, "name", nil)
	appendTexts(t, topic, "a", "b")
	cursor, err := topic.OpenCursor(t.Context(), "name", managedledger.CursorOptions{Durable: true, From: managedledger.Earliest()})
	if err != nil {
		t.Fatal(err)
	}
	producer, err := topic.Producer(t.Context(), "name")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := producer.Append(t.Context(), message.Message{Sequence: 1}); err != nil {
		t.Fatal(err)
	}
	return []any{e.Engine, topic, cursor, producer}
}

func TestS075EveryMethodAfterClose(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			e := start(t, s)
			all := used(t, e)
			e.stop(t)
			for _, v := range all {
				callAll(t.Context(), v, []string{"Close"}, func(method string, err error) {
					if !errors.Is(err, sdk.ErrClosed) {
						t.Errorf("%s after close: %v", method, err)
					}
				})
			}
			if err := e.Close(t.Context()); err != nil {
				t.Errorf("closing twice: %v", err)
			}
		})
	}
}

// During the close too: every method ends, with its result or as closed.
func TestS075EveryMethodDuringClose(t *testing.T) {
	for range 20 {
		e := start(t, memory.Open())
		all := used(t, e)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		var running sync.WaitGroup
		for _, v := range all {
			running.Go(func() {
				callAll(ctx, v, []string{"Close", "DeleteTopic", "DeleteCursor", "Terminate"}, func(method string, err error) {
					if errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s was not ended by the close", method)
					}
				})
			})
		}
		e.stop(t)
		running.Wait()
		cancel()
	}
}

func TestS073AddsDuringRollAreAnsweredAtClose(t *testing.T) {
	for _, failing := range []bool{false, true} {
		t.Run(fmt.Sprint("metadata fails: ", failing), func(t *testing.T) {
			inner := memory.Open()
			ledgers, metadata := &scripted.Ledgers{Inner: inner}, &scripted.Metadata{Inner: inner.Metadata()}
			e, err := engine.Open(t.Context(), engine.Settings{Ledgers: ledgers, Metadata: metadata, Plugin: inner}, engine.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			topic, err := e.CreateTopic(t.Context(), "orders", engine.TopicOptions{Overrides: map[string]string{"max-entries-per-ledger": "1"}})
			if err != nil {
				t.Fatal(err)
			}
			gate := scripted.NewGate()
			ledgers.Next(scripted.Create, scripted.Step{}, scripted.Step{HoldReply: gate})
			appendTexts(t, topic, "fills the first ledger")
			const adds = 10
			answers := make(chan error, adds)
			for range adds {
				if err := topic.AppendAsync(messages("x"), func(_ engine.Appended, err error) { answers <- err }); err != nil {
					t.Fatal(err)
				}
			}
			<-gate.Reached()
			if failing {
				metadata.Always(scripted.Put, &scripted.Step{Before: sdk.ErrUnavailable})
			}
			closed := make(chan error, 1)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			go func() { closed <- e.Close(ctx) }()
			gate.Open()
			for range adds {
				if err := <-answers; err != nil && !errors.Is(err, sdk.ErrClosed) && !(failing && errors.Is(err, sdk.ErrUnavailable)) {
					t.Errorf("an add ended with %v", err)
				}
			}
			if err := <-closed; err != nil && !failing {
				t.Errorf("close: %v", err)
			}
			metadata.Always(scripted.Put, nil)
			again := start(t, inner)
			kept := len(texts(t, open(t, again, "orders")))
			if kept < 1 || kept > 1+adds {
				t.Errorf("%d entries are kept", kept)
			}
			// What was left behind is removed by the next owner, before its trim.
			if _, err := open(t, again, "orders").Trim(t.Context()); err != nil {
				t.Fatal(err)
			}
			d, err := open(t, again, "orders").Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ids, err := inner.List(t.Context(), -1, 100)
			if err != nil || len(ids) > len(d.Ledgers) {
				t.Errorf("the store has ledgers %v, the topic only %d of them, %v", ids, len(d.Ledgers), err)
			}
		})
	}
}

// What does not close in time is named, and Close returns.
func TestCloseIsBounded(t *testing.T) {
	inner := memory.Open()
	ledgers := &scripted.Ledgers{Inner: inner}
	e, err := engine.Open(t.Context(), engine.Settings{Ledgers: ledgers, Metadata: inner.Metadata(), Plugin: inner}, engine.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"quick", "stuck"} {
		if _, err := e.CreateTopic(t.Context(), name, engine.TopicOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	gate := scripted.NewGate()
	ledgers.Next(scripted.Seal, scripted.Step{Hold: gate})
	stuck, err := e.Topic(t.Context(), "stuck")
	if err != nil {
		t.Fatal(err)
	}
	appendTexts(t, stuck, "x")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = e.Close(ctx)
	if err == nil || !strings.Contains(err.Error(), `"stuck"`) || strings.Contains(err.Error(), `"quick"`) {
		t.Errorf("close says: %v", err)
	}
	gate.Open()
	if again := e.Close(t.Context()); !errors.Is(again, err) && again.Error() != err.Error() {
		t.Errorf("closing again says: %v", again)
	}
}
