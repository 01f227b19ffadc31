package history

// WithLanes limits the memory of inference, as large histories of many clients do.
func (o Options) WithLanes(n int) Options {
	o.lanes = n
	return o
}
