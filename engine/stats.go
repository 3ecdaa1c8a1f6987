package engine

import (
	"github.com/tidemark-engine/tidemark/engine/entrycache"
	"github.com/tidemark-engine/tidemark/scheduling"
)

// Stats is a snapshot of an engine for metrics. Sums are over the topics that
// are open, and over those that were: they never go down.
type Stats struct {
	// Topics is how many topics there are, Open how many of them are open.
	Topics, Open int
	// Totals are the sums of all topics; pending and waiting ones of the open
	// topics only.
	Totals TopicTotals
	// Entries and Bytes are what the open topics keep, Ledgers in how many
	// ledgers, Cursors how many cursors they have and Producers how many named
	// producers they know.
	Entries, Bytes              int64
	Ledgers, Cursors, Producers int
	// Lanes is the work of all topics' lanes, by kind of task.
	Lanes scheduling.LaneStats
	Cache entrycache.Stats
}

// Stats returns a snapshot. It looks at every open topic, so it is for
// somebody who asks every few seconds.
func (e *Engine) Stats() Stats {
	s := Stats{Cache: e.cache.Stats()}
	open, retired := e.topics.all()
	s.Topics, s.Open = e.topics.count(), len(open)
	s.Totals, s.Lanes = retired.totals, retired.lanes
	for _, t := range open {
		l := t.log.Stats()
		s.Entries += l.Entries
		s.Bytes += l.Bytes
		s.Ledgers += len(l.Ledgers)
		s.Cursors += len(t.Cursors())
		s.Producers += t.producers.count()
		s.Totals.add(t.totals(l))
		addLane(&s.Lanes, l.Lane)
	}
	return s
}

// retired are the sums over topics that are not open any more.
type retired struct {
	totals TopicTotals
	lanes  scheduling.LaneStats
}

// add takes in a topic that is about to leave.
func (r *retired) add(t *Topic) {
	stats := t.log.Stats()
	totals := t.totals(stats)
	totals.PendingEntries, totals.PendingBytes, totals.WaitingReaders = 0, 0, 0
	r.totals.add(totals)
	stats.Lane.Queued = 0
	addLane(&r.lanes, stats.Lane)
}

func (t *TopicTotals) add(more TopicTotals) {
	t.AddedEntries += more.AddedEntries
	t.AddedBytes += more.AddedBytes
	t.FailedAdds += more.FailedAdds
	t.PendingEntries += more.PendingEntries
	t.PendingBytes += more.PendingBytes
	t.Duplicates += more.Duplicates
	t.WaitingReaders += more.WaitingReaders
}

func addLane(sum *scheduling.LaneStats, more scheduling.LaneStats) {
	sum.Queued += more.Queued
	for kind := range sum.ByKind {
		sum.ByKind[kind].Tasks += more.ByKind[kind].Tasks
		sum.ByKind[kind].Waited += more.ByKind[kind].Waited
		sum.ByKind[kind].Busy += more.ByKind[kind].Busy
	}
}
