import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { Palette as Colors, FileStack, Inbox, type LucideIcon, Play, Send } from 'lucide-react'
import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { wordOf } from '../../ops/output/words.ts'
import type { Schemas } from '../api/client.ts'
import { searchQuery } from '../api/queries.ts'
import { Modal } from '../parts/modal.tsx'
import { pageLinks } from './navigation.ts'
import { Choice, PaletteActions } from './palette-actions.tsx'
import { setTheme, themes } from './theme.ts'

type Found = Schemas['Found']

const icons: Readonly<Record<Found['kind'], LucideIcon>> = { submission: FileStack, delivery: Inbox, push: Send }

/** @returns the enabled action buttons of the page behind the palette. */
function actionsOfPage(): HTMLButtonElement[] {
  const buttons = [...document.querySelectorAll<HTMLButtonElement>('main .actions button.button, main form button.primary')]
  return buttons.filter(({ disabled, textContent, offsetParent }) => !disabled && offsetParent !== null && textContent.trim() !== '')
}

const FOUND = 'found '

/**
 * Ranks an item of the palette for a search text. Search results from the server rank first. Any other item matches if
 * each typed word is the beginning of one of the item's words.
 * @returns 1 for a search result, 0.5 for a match, otherwise 0.
 */
function rankOf(value: string, search: string, keywords: readonly string[] = []): number {
  if (value.startsWith(FOUND)) return 1
  const words = [value, ...keywords]
    .join(' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
  const typed = search.toLowerCase().split(/\s+/).filter(Boolean)
  return typed.every((part) => words.some((word) => word.startsWith(part))) ? 0.5 : 0
}

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [search, setSearch] = useState('')
  const [selected, setSelected] = useState('')
  /** Whether the user moved the selection. If so, search results that arrive later don't change the selection. */
  const hasMoved = useRef(false)
  const actions = useMemo(actionsOfPage, [])
  const type = (text: string) => {
    hasMoved.current = false
    setSearch(text)
  }
  const onFound = useCallback((first: string) => {
    if (!hasMoved.current) setSelected(first)
  }, [])
  return (
    <Modal title="Command palette" onClose={onClose} isTitleHidden className="palette">
      <Command
        label="Command palette"
        loop
        value={selected}
        onValueChange={setSelected}
        filter={rankOf}
        onKeyDown={({ key }) => {
          if (/^(?:Arrow(?:Up|Down)|Home|End)$/.test(key)) hasMoved.current = true
        }}
      >
        <Command.Input value={search} onValueChange={type} placeholder="Find a page, submission or action" />
        <Command.List>
          <Command.Empty className="quiet">No results.</Command.Empty>
          <SearchResults text={search.trim()} onFound={onFound} onClose={onClose} />
          <Pages onClose={onClose} />
          {actions.length > 0 && (
            <Command.Group heading="On this page">
              {actions.map((button, index) => (
                <Choice
                  key={`${button.textContent} ${index.toString()}`}
                  value={`${button.textContent} ${index.toString()}`}
                  icon={Play}
                  onClose={onClose}
                  // Click only after the dialog has closed and returned the focus.
                  onChoose={() => setTimeout(() => button.click())}
                >
                  {button.textContent}
                </Choice>
              ))}
            </Command.Group>
          )}
          <PaletteActions onClose={onClose} />
          <Themes onClose={onClose} />
        </Command.List>
      </Command>
    </Modal>
  )
}

interface GroupProps {
  readonly onClose: () => void
}

function Pages({ onClose }: GroupProps) {
  const navigate = useNavigate()
  return (
    <Command.Group heading="Pages">
      {pageLinks.map(({ to, name, icon }) => (
        <Choice key={to} value={name} icon={icon} onClose={onClose} onChoose={() => void navigate({ to })}>
          {name}
        </Choice>
      ))}
    </Command.Group>
  )
}

function Themes({ onClose }: GroupProps) {
  return (
    <Command.Group heading="Theme">
      {themes.map((theme) => (
        <Choice key={theme} value={`Theme ${theme} colors`} icon={Colors} onClose={onClose} onChoose={() => setTheme(theme)}>
          {theme === 'system' ? 'Theme: same as system' : `Theme: ${theme}`}
        </Choice>
      ))}
    </Command.Group>
  )
}

function resultKey(text: string, { kind, account, id }: Found): string {
  return `${FOUND}${text} ${kind} ${account} ${id}`
}

function SearchResults({ text, onFound, onClose }: GroupProps & { readonly text: string; readonly onFound: (value: string) => void }) {
  const deferred = useDeferredValue(text)
  const { data } = useQuery({ ...searchQuery(deferred), enabled: deferred !== '' })
  const navigate = useNavigate()
  const open = ({ kind, id, account, submission_id, about }: Found) => {
    if (kind === 'delivery') void navigate({ to: '/deliveries/$delivery', params: { delivery: id } })
    else if (kind === 'push' && about) void navigate({ to: '/destinations/$name', params: { name: about } })
    else void navigate({ to: '/submissions/$account/$submission_id', params: { account, submission_id: submission_id ?? id } })
  }
  // Ignore results of an earlier text. Otherwise Enter could open a result that doesn't match the current text.
  const found = deferred === text ? (data?.items ?? []) : []
  const first = found[0] && resultKey(text, found[0])
  useEffect(() => {
    if (first !== undefined) onFound(first)
  }, [first, onFound])
  if (found.length === 0) return null
  return (
    <Command.Group heading="Search results">
      {found.map((each) => (
        <Choice
          key={resultKey(text, each)}
          value={resultKey(text, each)}
          icon={icons[each.kind]}
          onClose={onClose}
          onChoose={() => open(each)}
        >
          <bdi>{each.title ?? each.id}</bdi>
          <span className="quiet">{wordOf(each.state)}</span>
        </Choice>
      ))}
    </Command.Group>
  )
}
