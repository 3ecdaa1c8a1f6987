package server

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// codec is gRPC's codec for protobuf with a pool of buffers of more sizes. The
// usual one goes from 32 KiB to 1 MiB at once, which a thousand readers that do
// not read would keep each for a frame of 33 KiB.
type codec struct{ pool mem.BufferPool }

// newCodec makes a codec with buffers of the powers of two from 512 B to 16 MiB.
func newCodec() (*codec, error) {
	var sizes []uint8
	for power := uint8(9); power <= 24; power++ {
		sizes = append(sizes, power)
	}
	pool, err := mem.NewBinaryTieredBufferPool(sizes...)
	return &codec{pool: pool}, err
}

// Name is that of the codec it stands for.
func (c *codec) Name() string { return "proto" }

// Marshal encodes a message into a buffer of the pool.
func (c *codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("server: %T is no protobuf message", v)
	}
	options := proto.MarshalOptions{UseCachedSize: true}
	buffer := c.pool.Get(proto.Size(m))
	encoded, err := options.MarshalAppend((*buffer)[:0], m)
	if err != nil {
		c.pool.Put(buffer)
		return nil, err
	}
	*buffer = encoded
	return mem.BufferSlice{mem.NewBuffer(buffer, c.pool)}, nil
}

// Unmarshal decodes a message, which keeps nothing of data.
func (c *codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("server: %T is no protobuf message", v)
	}
	buffer := data.MaterializeToBuffer(c.pool)
	defer buffer.Free()
	return proto.Unmarshal(buffer.ReadOnlyData(), m)
}
