package cas

// Batch collects objects that are to be stored together, each once.
type Batch struct {
	objects []Object
	hashes  []Hash
	seen    map[Hash]int
	size    int
}

// Add takes an object and returns its hash.
func (b *Batch) Add(o Object) (Hash, error) {
	if err := o.Check(); err != nil {
		return Hash{}, err
	}
	h := o.Sum()
	if _, ok := b.seen[h]; ok {
		return h, nil
	}
	if b.seen == nil {
		b.seen = map[Hash]int{}
	}
	b.seen[h] = len(b.objects)
	b.objects, b.hashes = append(b.objects, o), append(b.hashes, h)
	b.size += len(o.Data) + len(o.Refs)*len(Hash{})
	return h, nil
}

// Get returns an object of the batch.
func (b *Batch) Get(h Hash) (Object, bool) {
	i, ok := b.seen[h]
	if !ok {
		return Object{}, false
	}
	return b.objects[i], true
}

// Len returns the number of objects.
func (b *Batch) Len() int { return len(b.objects) }

// Size returns the bytes of all objects together.
func (b *Batch) Size() int { return b.size }

// All calls yield for each object in the order of Add.
func (b *Batch) All(yield func(Hash, Object) bool) {
	for i, h := range b.hashes {
		if !yield(h, b.objects[i]) {
			return
		}
	}
}
