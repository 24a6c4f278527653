import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { Palette as Colours, FileStack, Inbox, type LucideIcon, Play, Send } from 'lucide-react'
import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { wordOf } from '../../ops/output/words.ts'
import type { Schemas } from '../api/client.ts'
import { searchQuery } from '../api/queries.ts'
import { Modal } from '../parts/modal.tsx'
import { places } from './navigation.ts'
import { PaletteActions } from './palette-actions.tsx'
import { setTheme, themes } from './theme.ts'
import { takeTyped } from './typed-ahead.ts'

type Found = Schemas['Found']

const icons: Readonly<Record<Found['kind'], LucideIcon>> = { submission: FileStack, delivery: Inbox, push: Send }

/** The actions of the page behind it, by the words on their buttons. */
function actionsOfPage(): HTMLButtonElement[] {
  const buttons = [...document.querySelectorAll<HTMLButtonElement>('main .actions button.button, main form button.primary')]
  return buttons.filter(({ disabled, textContent, offsetParent }) => !disabled && offsetParent !== null && textContent.trim() !== '')
}

const FOUND = 'found '

/** What the database found comes first; of the rest stays what has a word that begins with each word typed. */
function rankOf(value: string, search: string, keywords: readonly string[] = []): number {
  if (value.startsWith(FOUND)) return 1
  const words = [value, ...keywords]
    .join(' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
  const typed = search.toLowerCase().split(/\s+/).filter(Boolean)
  return typed.every((part) => words.some((word) => word.startsWith(part))) ? 0.5 : 0
}

/** Finds pages, submissions and actions by a few letters. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [search, setSearch] = useState('')
  const [selected, setSelected] = useState('')
  /** Whether a person has moved to another line: a late answer does not take that back. */
  const hasMoved = useRef(false)
  const actions = useMemo(actionsOfPage, [])
  const type = (text: string) => {
    hasMoved.current = false
    setSearch(text)
  }
  const onFound = useCallback((first: string) => {
    if (!hasMoved.current) setSelected(first)
  }, [])
  // The dialog has the focus by now: its own effects ran before.
  useEffect(() => setSearch(takeTyped()), [])
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
        <Command.Input value={search} onValueChange={type} placeholder="Find a page, a submission or an action" />
        <Command.List>
          <Command.Empty>Nothing is called that.</Command.Empty>
          <FoundItems text={search.trim()} onFound={onFound} onClose={onClose} />
          <Pages onClose={onClose} />
          {actions.length > 0 && (
            <Command.Group heading="On this page">
              {actions.map((button, index) => (
                <Command.Item
                  key={`${button.textContent} ${index.toString()}`}
                  value={`${button.textContent} ${index.toString()}`}
                  onSelect={() => {
                    onClose()
                    // After the dialog has given the focus back.
                    setTimeout(() => button.click())
                  }}
                >
                  <Play aria-hidden="true" />
                  {button.textContent}
                </Command.Item>
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
      {places.map(({ to, name, icon: Icon }) => (
        <Command.Item
          key={to}
          value={name}
          onSelect={() => {
            onClose()
            void navigate({ to })
          }}
        >
          <Icon aria-hidden="true" />
          {name}
        </Command.Item>
      ))}
    </Command.Group>
  )
}

function Themes({ onClose }: GroupProps) {
  return (
    <Command.Group heading="Colours">
      {themes.map((theme) => (
        <Command.Item
          key={theme}
          value={`Colours ${theme}`}
          onSelect={() => {
            setTheme(theme)
            onClose()
          }}
        >
          <Colours aria-hidden="true" />
          {theme === 'system' ? 'Colours as the system has them' : `Colours: ${theme}`}
        </Command.Item>
      ))}
    </Command.Group>
  )
}

/** Of a thing that was found by a text. */
function keyOfFound(text: string, { kind, account, id }: Found): string {
  return `${FOUND}${text} ${kind} ${account} ${id}`
}

/** What the mirror holds of that name or id. */
function FoundItems({ text, onFound, onClose }: GroupProps & { readonly text: string; readonly onFound: (value: string) => void }) {
  const asked = useDeferredValue(text)
  const { data } = useQuery({ ...searchQuery(asked), enabled: asked !== '' })
  const navigate = useNavigate()
  const open = ({ kind, id, account, submission_id, about }: Found) => {
    onClose()
    if (kind === 'delivery') void navigate({ to: '/deliveries/$delivery', params: { delivery: id } })
    else if (kind === 'push' && about) void navigate({ to: '/destinations/$name', params: { name: about } })
    else void navigate({ to: '/submissions/$account/$submission_id', params: { account, submission_id: submission_id ?? id } })
  }
  // What was found for an earlier letter is no answer to what stands there now: Enter would open it.
  const found = asked === text ? (data?.items ?? []) : []
  const first = found[0] && keyOfFound(text, found[0])
  useEffect(() => {
    if (first !== undefined) onFound(first)
  }, [first, onFound])
  if (found.length === 0) return null
  return (
    <Command.Group heading="Found">
      {found.map((each) => {
        const Icon = icons[each.kind]
        return (
          <Command.Item key={keyOfFound(text, each)} value={keyOfFound(text, each)} onSelect={() => open(each)}>
            <Icon aria-hidden="true" />
            <bdi>{each.title ?? each.id}</bdi>
            <span className="quiet">{wordOf(each.state)}</span>
          </Command.Item>
        )
      })}
    </Command.Group>
  )
}
