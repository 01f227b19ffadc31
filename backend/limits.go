package backend

// ObjectMax is the largest object that an adapter reads, in bytes: 128 MiB. StrictKV
// writes none of half that size; what claims to be larger is foreign or damaged, and ends a
// Get in a CorruptError before memory is taken for it.
const ObjectMax = 128 << 20
