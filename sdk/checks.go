package sdk

import "fmt"

// The limits of [CreateOptions].
const (
	MaxLabels     = 16
	MaxLabelBytes = 256
)

// Validate returns [ErrInvalid] if there are too many or too long labels.
func (o CreateOptions) Validate() error {
	if len(o.Labels) > MaxLabels {
		return fmt.Errorf("%w: %d labels, at most %d", ErrInvalid, len(o.Labels), MaxLabels)
	}
	for key, value := range o.Labels {
		if len(key) > MaxLabelBytes || len(value) > MaxLabelBytes {
			return fmt.Errorf("%w: label %.32q has a key or value of more than %d bytes", ErrInvalid, key, MaxLabelBytes)
		}
	}
	return nil
}

// Last returns the id of the batch's last entry.
func (b Batch) Last() EntryID { return b.First + EntryID(len(b.Entries)) - 1 }

// Bytes returns the sum of the payload sizes.
func (b Batch) Bytes() int {
	total := 0
	for _, entry := range b.Entries {
		total += len(entry)
	}
	return total
}

// Validate returns [ErrInvalid] unless the batch holds entries and begins at
// next, the id that follows the entries handed over before.
func (b Batch) Validate(next EntryID) error {
	if len(b.Entries) == 0 {
		return fmt.Errorf("%w: a batch without entries", ErrInvalid)
	}
	if b.First != next {
		return fmt.Errorf("%w: a batch from entry %d, but the next entry is %d", ErrInvalid, b.First, next)
	}
	return nil
}

// Validate returns [ErrInvalid] for a range that no ledger could have.
func (r Range) Validate() error {
	if r.First < 0 || r.Last < r.First || r.MaxBytes < 0 {
		return fmt.Errorf("%w: range %d to %d, at most %d bytes", ErrInvalid, r.First, r.Last, r.MaxBytes)
	}
	return nil
}

// Within returns [ErrInvalid] for a range that no ledger could have, and
// [ErrEntryNotFound] for one that reaches beyond last, the last entry that may
// be read.
func (r Range) Within(last EntryID) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if r.Last > last {
		return fmt.Errorf("entry %d, last confirmed %d: %w", r.Last, last, ErrEntryNotFound)
	}
	return nil
}

// Check returns [ErrVersionConflict] unless the expected version v allows a
// write to a key that has the version current.
func (v Version) Check(current Version) error {
	if v == AnyVersion || v == current {
		return nil
	}
	return fmt.Errorf("version is %d, expected %d: %w", current, v, ErrVersionConflict)
}
