package pebble

import "time"

// What follows is the committer's side of the intake.

// await returns when something is queued, or, if that is later and not longer
// than patience, when units are queued; also after a kick, and after alarm if
// that is not 0. It returns false when the intake has ended and is empty.
func (in *intake) await(units int, patience, alarm time.Duration) bool {
	if patience > 0 {
		in.waitFor(units, patience)
	}
	in.waitFor(1, alarm)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.kicked = false
	return in.units > 0 || !in.ended
}

// waitFor waits for units, for a kick, or until limit has passed if it is not 0.
func (in *intake) waitFor(units int, limit time.Duration) {
	if !in.parked(units) {
		return
	}
	if limit == 0 {
		<-in.wake
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-in.wake:
	case <-timer.C:
	}
}

// parked reports whether the committer has to wait for units, and if so asks
// for a wake-up.
func (in *intake) parked(units int) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.wakeAt = 0
	if in.units >= units || in.ended || in.kicked {
		return false
	}
	select { // A token from before means nothing.
	case <-in.wake:
	default:
	}
	in.wakeAt = units
	return true
}

// take moves what is queued into g, as far as limit bytes of payload.
func (in *intake) take(g *group, limit int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	whole := 0
	for _, l := range in.ready {
		if g.bytes >= limit {
			break
		}
		if !in.takeFrom(l, g, limit) {
			break
		}
		whole++
	}
	in.ready = append(in.ready[:0], in.ready[whole:]...)
	g.changes, in.changes = in.changes, g.changes[:0]
	in.units -= len(g.changes)
}

// takeFrom takes a ledger's queue, or as much of it as fits, and reports
// whether it took all.
func (in *intake) takeFrom(l *ledger, g *group, limit int) bool {
	g.ledgers = append(g.ledgers, l)
	count, units := 0, 0
	for count < len(l.queue) && (g.bytes < limit || count == 0) {
		r := &l.queue[count]
		g.bytes += r.bytes
		in.bytes -= r.bytes
		units += r.units()
		count++
	}
	in.units -= units
	g.units += units
	if count == len(l.queue) {
		l.taken, l.queue = l.queue, l.taken[:0]
		return true
	}
	l.taken = append(l.taken[:0], l.queue[:count]...)
	l.queue = append(l.queue[:0], l.queue[count:]...)
	return false
}

// finished gives back the ledgers of a group whose Done functions were called.
func (in *intake) finished(g *group) {
	var idle []func()
	in.mu.Lock()
	for _, l := range g.ledgers {
		l.outstanding -= len(l.taken)
		clear(l.taken)
		l.taken = l.taken[:0]
		if cap(l.taken) > keepQueue {
			l.taken = nil
		}
		if l.outstanding == 0 {
			idle = append(idle, l.whenIdle...)
			l.whenIdle = nil
		}
	}
	in.mu.Unlock()
	for _, f := range idle {
		f()
	}
}

// keepQueue is how many requests a ledger keeps room for between groups.
const keepQueue = 4096
