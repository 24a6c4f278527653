import { type ReactNode, useId } from 'react'
import { wordOf } from '../../ops/output/words.ts'
import { useAddress } from '../layout/search.ts'

/** Names with their values. */
export function Facts({ items }: { readonly items: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

interface SectionProps {
  readonly title: string
  /** Its anchor in the address. */
  readonly id?: string
  readonly actions?: ReactNode
  readonly className?: string
  readonly children: ReactNode
}

/** A part of a page, found by its name. */
export function Section({ title, id, actions, className = '', children }: SectionProps) {
  const heading = useId()
  return (
    <section id={id} aria-labelledby={heading} className={`section ${className}`}>
      <header>
        <h2 id={heading}>{title}</h2>
        {actions && <div className="actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  /** What is chosen when nothing is. */
  readonly all: string
  readonly options: readonly (string | readonly [value: string, name: string])[]
  readonly onChange: (value: string) => void
}

/** A filter with a few values. */
export function Choice({ label, value, all, options, onChange }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={({ target }) => onChange(target.value)}>
      <option value="">{all}</option>
      {options.map((option) => {
        const [key, name] = typeof option === 'string' ? [option, wordOf(option)] : option
        return (
          <option key={key} value={key}>
            {name}
          </option>
        )
      })}
    </select>
  )
}

/** Takes every filter of a list away. @param names of the filters, as they stand in the address. */
export function ClearFilters({ names }: { readonly names: readonly string[] }) {
  const [search, set] = useAddress()
  if (!names.some((name) => search[name])) return null
  return (
    <button type="button" className="button small" onClick={() => set(Object.fromEntries(names.map((name) => [name, ''])))}>
      Clear filters
    </button>
  )
}
