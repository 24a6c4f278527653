import { X } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { headOf, wordOf } from '../../ops/output/words.ts'
import { useAddress } from '../layout/search.ts'
import { SearchField } from './search-field.tsx'

type Fact = readonly [name: string, value: ReactNode]

interface FactsProps {
  /** Names and values. An item that is false isn't shown. */
  readonly items: readonly (Fact | false)[]
  readonly isMono?: boolean
}

export function Facts({ items, isMono = false }: FactsProps) {
  return (
    <dl className="facts table-text">
      {items
        .filter((fact) => fact !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt className="quiet small-text">{name}</dt>
            <dd>{isMono ? <span className="mono">{value}</span> : value}</dd>
          </div>
        ))}
    </dl>
  )
}

export function StyledText({ className, text }: { readonly className: 'bad' | 'mono' | 'quiet'; readonly text: string | null }) {
  return <span className={className}>{text}</span>
}

interface SectionProps {
  readonly title: string
  readonly id?: string
  readonly actions?: ReactNode
  readonly className?: string
  readonly children: ReactNode
}

export function Section({ title, id, actions, className = '', children }: SectionProps) {
  const heading = useId()
  return (
    <section id={id} aria-labelledby={heading} className={`section ${className}`}>
      <header className="split">
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
  readonly all: string
  readonly options: readonly (string | readonly [value: string, name: string])[]
  readonly onChange: (value: string) => void
}

/**
 * A select field for a filter. If `value` isn't one of the options, the field also offers `value`. A link can set such
 * a value.
 * @param all label of the choice without a filter.
 */
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

interface FilterProps {
  readonly name: string
  readonly label: string
}

export function FilterChoice({ name, ...choice }: FilterProps & Pick<ChoiceProps, 'all' | 'options'>) {
  const [search, set] = useAddress()
  return <Choice {...choice} value={search[name] ?? ''} onChange={(value) => set({ [name]: value })} />
}

export function FilterSearch({ name, ...field }: FilterProps & { readonly placeholder: string }) {
  const [search, set] = useAddress()
  return <SearchField {...field} value={search[name] ?? ''} onChange={(text) => set({ [name]: text })} />
}

interface ClearFiltersProps {
  /** Query parameters of the filters that have a field on the page. */
  readonly names: readonly string[]
  /**
   * Query parameters of filters without a field, which links set. Each is shown as a button that removes the filter.
   */
  readonly linked?: readonly string[]
}

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
