package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
)

const laneTasks = 400_000

// copyTask is the task of the lane rows: it copies one entry into its lane's
// buffer.
type copyTask struct {
	buffer, payload []byte
	pending         *sync.WaitGroup
}

func (t *copyTask) Run() {
	copy(t.buffer, t.payload)
	t.pending.Done()
}

// laneRows measure one fire-and-forget task, measurement by kind included.
func laneRows() []row {
	var rows []row
	for _, lanes := range []int{1, 500} {
		base := fmt.Sprintf("lane/mutex-in-caller/%d", lanes)
		rows = append(rows,
			row{name: base, unit: "ns/task", lower: true, run: func(ctx context.Context, e env) (float64, error) {
				return timeMutexTasks(lanes), nil
			}},
			row{name: fmt.Sprintf("lane/post/%d", lanes), unit: "ns/task", lower: true, aim: 120, run: func(ctx context.Context, e env) (float64, error) {
				return timeLaneTasks(ctx, lanes)
			}})
	}
	return rows
}

func timeMutexTasks(keys int) float64 {
	locks := make([]sync.Mutex, keys)
	payload, buffers := incompressible(128), make([][128]byte, keys)
	began := time.Now()
	for i := range laneTasks {
		key := i % keys
		locks[key].Lock()
		copy(buffers[key][:], payload)
		locks[key].Unlock()
	}
	return float64(time.Since(began).Nanoseconds()) / laneTasks
}

func timeLaneTasks(ctx context.Context, count int) (float64, error) {
	pool, err := scheduling.NewPool(scheduling.DefaultPoolConfig())
	if err != nil {
		return 0, err
	}
	defer pool.Close(ctx)
	var pending sync.WaitGroup
	lanes, tasks := make([]scheduling.Lane, count), make([]*copyTask, count)
	for i := range lanes {
		lanes[i] = pool.NewLane(fmt.Sprint(i))
		tasks[i] = &copyTask{buffer: make([]byte, 128), payload: incompressible(128), pending: &pending}
	}
	pending.Add(laneTasks)
	began := time.Now()
	for i := range laneTasks {
		for lanes[i%count].Post(scheduling.KindOther, tasks[i%count]) == scheduling.ErrFull {
			pause(ctx, 50*time.Microsecond)
		}
	}
	pending.Wait()
	return float64(time.Since(began).Nanoseconds()) / laneTasks, nil
}
