import { type AnyRouter, useRouter } from '@tanstack/react-router'
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { Palette } from './palette.tsx'

function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

/**
 * Handles keys in a field. Escape leaves the field and keeps its text. In a search field, the down arrow moves the
 * focus to the first row of the list.
 */
function leaveField(event: KeyboardEvent): void {
  const { key, target } = event
  if (!(target instanceof HTMLElement)) return
  const isDown = key === 'ArrowDown' && target.matches('main input[type="search"]')
  if (key !== 'Escape' && !isDown) return
  event.preventDefault()
  target.blur()
  if (isDown) visibleRows()[0]?.focus()
}

function visibleRows(): HTMLAnchorElement[] {
  return [...document.querySelectorAll<HTMLAnchorElement>('main a[data-row]')].filter((row) => row.offsetParent !== null)
}

function moveRow(event: KeyboardEvent, by: 1 | -1): void {
  const rows = visibleRows()
  const focused = rows.indexOf(document.activeElement as HTMLAnchorElement)
  if (focused === -1) return
  event.preventDefault()
  rows[focused + by]?.focus()
}

function focusSearch(event: KeyboardEvent): void {
  event.preventDefault()
  const field =
    document.querySelector<HTMLInputElement>('main input[type="search"]') ?? document.querySelector<HTMLElement>('.search-button')
  field?.focus()
  if (field instanceof HTMLInputElement) field.select()
}

/**
 * Goes back from an item to its list, and focuses the item's row there.
 * @param cameFrom path of the previous page, without `/console`; null if there is none. If the previous page is the
 * list, goes back in the browser's history, so that the filters stay.
 */
function goBack(router: AnyRouter, cameFrom: string | null): void {
  const back = document.querySelector<HTMLAnchorElement>('main a[data-back]')
  if (!back) return
  const { pathname } = location
  const stop = router.subscribe('onRendered', () => {
    stop()
    visibleRows()
      .find((row) => row.pathname === pathname)
      ?.focus()
  })
  if (cameFrom !== null && back.pathname.endsWith(cameFrom)) history.back()
  else back.click()
}

export function useKeys(): { readonly openPalette: () => void; readonly palette: ReactNode } {
  const [isOpen, setOpen] = useState(false)
  const router = useRouter()
  const close = useCallback(() => setOpen(false), [])
  const cameFrom = useRef<string | null>(null)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        return setOpen(true)
      }
      // If a dialog is open, don't handle the key. The dialog handles its own keys.
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return
      if (isTyping(event)) leaveField(event)
      else if (event.key === '/') focusSearch(event)
      else if (event.key === 'ArrowDown') moveRow(event, 1)
      else if (event.key === 'ArrowUp') moveRow(event, -1)
      else if (event.key === 'Escape') goBack(router, cameFrom.current)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [router])
  useEffect(
    () =>
      router.subscribe('onBeforeNavigate', ({ fromLocation, pathChanged }) => {
        // If only the query string changes, keep the palette open. A search field behind the palette may change the
        // query string.
        if (!pathChanged) return
        cameFrom.current = fromLocation?.pathname ?? null
        close()
      }),
    [router, close],
  )
  return { openPalette: () => setOpen(true), palette: isOpen && <Palette onClose={close} /> }
}
