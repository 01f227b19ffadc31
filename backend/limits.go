package backend

// ObjectMax is the largest object that an adapter reads, in bytes: 128 MiB. StrictKV writes
// values of up to 64 MiB, and a few bytes around them; what claims to be larger than this
// is foreign or damaged, and ends a Get in a CorruptError before memory is taken for it.
const ObjectMax = 128 << 20
