export interface XmlElement {
  readonly name: string
  readonly namespace: string
  readonly children: readonly XmlElement[]
  /** The text, when there are no inner elements. */
  readonly text: string
}

interface Open {
  readonly qualified: string
  readonly spaces: Readonly<Record<string, string>>
  readonly children: XmlElement[]
  text: string
}

const TOKEN = /<\?xml [^?]*\?>|<\/([\w.:-]+)\s*>|<([\w.:-]+)((?:\s+[\w.:-]+="[^"<]*")*)\s*(\/?)>|([^<]+)/gy
const ATTRIBUTE = /([\w.:-]+)="([^"]*)"/g
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

export function readXml(document: string): XmlElement {
  const stack: Open[] = [{ qualified: '', spaces: { '': '' }, children: [], text: '' }]
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < document.length) {
    const at = TOKEN.lastIndex
    const token = TOKEN.exec(document)
    if (token === null) throw new Error(`not well-formed at ${at}: ${document.slice(at, at + 40)}`)
    const [, closed, opened, attributes = '', empty, text] = token
    const top = stack.at(-1) as Open
    if (text !== undefined) top.text += unescaped(text)
    if (opened !== undefined) stack.push({ qualified: opened, spaces: { ...top.spaces, ...spacesIn(attributes) }, children: [], text: '' })
    if (closed !== undefined || empty === '/') close(stack, closed ?? opened ?? '')
  }
  const [root, ...others] = stack[0]?.children ?? []
  if (root === undefined || others.length > 0 || stack.length > 1) throw new Error('not well-formed: not exactly one root')
  return root
}

export function within(element: XmlElement | undefined, name: string): XmlElement | undefined {
  if (element === undefined) return undefined
  for (const child of element.children) {
    const found = child.name === name ? child : within(child, name)
    if (found !== undefined) return found
  }
  return undefined
}

function close(stack: Open[], name: string): void {
  const open = stack.pop()
  if (open === undefined || open.qualified !== name) throw new Error(`not well-formed: </${name}> closes ${open?.qualified}`)
  const [local = '', prefix = ''] = name.split(':').reverse()
  const namespace = open.spaces[prefix]
  if (namespace === undefined) throw new Error(`not well-formed: the prefix ${prefix} is not declared`)
  stack.at(-1)?.children.push({ name: local, namespace, children: open.children, text: open.children.length > 0 ? '' : open.text })
}

function spacesIn(attributes: string): Record<string, string> {
  const spaces: Record<string, string> = {}
  for (const [, name = '', value = ''] of attributes.matchAll(ATTRIBUTE)) {
    if (name === 'xmlns' || name.startsWith('xmlns:')) spaces[name.slice(6)] = unescaped(value)
  }
  return spaces
}

function unescaped(text: string): string {
  return text.replace(/&(?:#(\d+)|(\w+))?;?/g, (whole, code?: string, name?: string) => {
    const character = code === undefined ? ENTITIES[name ?? ''] : String.fromCodePoint(Number(code))
    if (character === undefined || !whole.endsWith(';')) throw new Error(`not well-formed: ${whole}`)
    return character
  })
}
