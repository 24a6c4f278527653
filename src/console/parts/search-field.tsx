import { Search } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'

const PAUSE_MS = 250

interface SearchFieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder?: string
  /** By which a form reads what is typed. */
  readonly name?: string
}

/** A search that goes off when one pauses. */
export function SearchField({ label, value, onChange, placeholder, name }: SearchFieldProps) {
  const [text, setText] = useState(value)
  const sent = useRef(value)
  useEffect(() => {
    // What comes back of what was sent takes no letter away that was typed meanwhile.
    if (value !== sent.current) setText(value)
    sent.current = value
  }, [value])
  useEffect(() => {
    if (text.trim() === value) return
    const timer = setTimeout(() => {
      sent.current = text.trim()
      onChange(sent.current)
    }, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, value, onChange])
  return (
    <div className="search-field">
      <Search aria-hidden="true" />
      <input
        type="search"
        name={name}
        aria-label={label}
        placeholder={placeholder ?? label}
        value={text}
        spellCheck={false}
        autoComplete="off"
        onChange={({ target }) => setText(target.value)}
      />
    </div>
  )
}
