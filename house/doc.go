// Package house keeps the rules of the house as tests: who may import whom,
// what a file may look like, and what may not stand in one. It holds no code
// of the product.
package house
