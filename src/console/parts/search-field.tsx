import { Search } from 'lucide-react'
import { useEffect, useEffectEvent, useRef, useState } from 'react'

const PAUSE_MS = 250

interface SearchFieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder?: string
  readonly name?: string
}

export function SearchField({ label, value, onChange, placeholder, name }: SearchFieldProps) {
  const [text, setText] = useState(value)
  const sent = useRef(value)
  useEffect(() => {
    // If the new `value` is the text that this field sent last, ignore it. The user may have typed more
    // in the meantime.
    if (value !== sent.current) setText(value)
    sent.current = value
  }, [value])
  const send = useEffectEvent(() => {
    sent.current = text.trim()
    onChange(sent.current)
  })
  useEffect(() => {
    if (text.trim() === value) return
    const timer = setTimeout(() => send(), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, value])
  return (
    <div className="search-field">
      <Search aria-hidden="true" />
      <input
        type="search"
        name={name}
        aria-label={label}
        placeholder={placeholder ?? label}
        title="Press / to search"
        value={text}
        spellCheck={false}
        autoComplete="off"
        onChange={({ target }) => setText(target.value)}
      />
    </div>
  )
}
