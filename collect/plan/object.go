package plan

import "strconv"

// object builds a JSON object member by member.
type object struct{ n node }

func newObject() *object { return &object{node{kind: kindObject}} }

func (o *object) put(key string, value node) {
	o.n.keys, o.n.items = append(o.n.keys, key), append(o.n.items, value)
}

func (o *object) str(key, value string) { o.put(key, node{kind: kindString, text: value}) }

func (o *object) integer(key string, value int64) { o.put(key, integerNode(value)) }

func (o *object) boolean(key string, value bool) {
	o.put(key, node{kind: kindBool, text: strconv.FormatBool(value)})
}

// optionalStr and its siblings leave out what the spec does not state.
func (o *object) optionalStr(key string, value *string) {
	if value != nil {
		o.str(key, *value)
	}
}

func (o *object) optionalInteger(key string, value *int64) {
	if value != nil {
		o.integer(key, *value)
	}
}

func (o *object) optionalBoolean(key string, value *bool) {
	if value != nil {
		o.boolean(key, *value)
	}
}

func (o *object) optionalNumber(key string, value *specNumber) {
	if value != nil {
		o.put(key, node{kind: kindNumber, text: string(*value)})
	}
}

func (o *object) strings(key string, values []string) {
	list := node{kind: kindArray}
	for _, v := range values {
		list.items = append(list.items, node{kind: kindString, text: v})
	}
	o.put(key, list)
}

func (o *object) texts(key string, values specTexts) {
	if values == nil {
		return
	}
	nested := newObject()
	for _, k := range sortedKeys(values) {
		nested.str(k, values[k])
	}
	o.put(key, nested.n)
}

func integerNode(value int64) node {
	return node{kind: kindNumber, text: strconv.FormatInt(value, 10)}
}
