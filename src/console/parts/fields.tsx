import { X } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { headOf, wordOf } from '../../ops/output/words.ts'
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

/** A filter with a few values. An address may name another value, which is shown too. */
export function Choice({ label, value, all, options, onChange }: ChoiceProps) {
  const named = options.map((option) => (typeof option === 'string' ? ([option, wordOf(option)] as const) : option))
  const isOther = value !== '' && named.every(([key]) => key !== value)
  return (
    <select aria-label={label} value={value} onChange={({ target }) => onChange(target.value)}>
      <option value="">{all}</option>
      {[...named, ...(isOther ? [[value, wordOf(value)] as const] : [])].map(([key, name]) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
    </select>
  )
}

interface ClearFiltersProps {
  /** Names in the address of the filters that have a field or a choice. */
  readonly names: readonly string[]
  /** Names of the filters that only links set. Each one in the address is shown with a button that removes it. */
  readonly linked?: readonly string[]
}

/** Shows the filters of a list that have no field, and a button that clears all filters. */
export function ClearFilters({ names, linked = [] }: ClearFiltersProps) {
  const [search, set] = useAddress()
  const all = [...names, ...linked]
  if (!all.some((name) => search[name])) return null
  return (
    <>
      {linked.map((name) => {
        const value = search[name]
        if (!value) return null
        return (
          <button key={name} type="button" className="button small filter" title="Remove this filter" onClick={() => set({ [name]: '' })}>
            {headOf(name)}: <bdi>{value}</bdi> <X aria-hidden="true" />
          </button>
        )
      })}
      <button type="button" className="button small" onClick={() => set(Object.fromEntries(all.map((name) => [name, ''])))}>
        Clear filters
      </button>
    </>
  )
}
