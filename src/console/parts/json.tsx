import { ChevronRight } from 'lucide-react'
import { useState } from 'react'

const OPEN_DEPTH = 2
const MAX_ENTRIES = 200

interface JsonProps {
  readonly value: unknown
  readonly find?: string
}

/**
 * Shows JSON as a tree whose objects and lists can be collapsed.
 * @param find text to find. Hides fields and values that don't contain the text.
 */
export function Json({ value, find = '' }: JsonProps) {
  return (
    <div className="json mono">
      <Node name={null} value={value} depth={0} find={find.toLowerCase()} />
    </div>
  )
}

interface NodeProps {
  readonly name: string | null
  readonly value: unknown
  readonly depth: number
  readonly find: string
}

function contains(name: string | null, value: unknown, find: string): boolean {
  return find === '' || name?.toLowerCase().includes(find) || (JSON.stringify(value) ?? '').toLowerCase().includes(find)
}

function Node({ name, value, depth, find }: NodeProps) {
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH)
  if (!contains(name, value, find)) return null
  const label = name !== null && <span className="quiet">{name}: </span>
  if (typeof value !== 'object' || value === null) {
    return (
      <div className="json-line">
        {label}
        <span className={`json-${value === null ? 'null' : typeof value}`}>{JSON.stringify(value)}</span>
      </div>
    )
  }
  const entries = Object.entries(value)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (entries.length === 0) return <div className="json-line">{[label, `${open}${close}`]}</div>
  const isShown = isOpen || find !== ''
  return (
    <div>
      <button type="button" className="json-line json-fold" aria-expanded={isShown} onClick={() => setOpen(!isOpen)}>
        <ChevronRight aria-hidden="true" />
        {label}
        {isShown ? open : `${open} ${entries.length} ${close}`}
      </button>
      {isShown && (
        <div className="json-inner">
          {entries.slice(0, MAX_ENTRIES).map(([key, each]) => (
            <Node key={key} name={Array.isArray(value) ? null : key} value={each} depth={depth + 1} find={find} />
          ))}
          {entries.length > MAX_ENTRIES && <div className="json-line quiet">and {entries.length - MAX_ENTRIES} more</div>}
        </div>
      )}
      {isShown && <div className="json-line">{close}</div>}
    </div>
  )
}

/** @returns the parsed value; the text itself if it isn't JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
