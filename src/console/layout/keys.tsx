import { useRouter } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import { goBack } from './back.ts'
import { KeysDialog } from './keys-dialog.tsx'
import { places } from './navigation.ts'
import { awaitPalette, takeTyped, typeAhead } from './typed-ahead.ts'

const loadPalette = async () => ({ default: (await import('./palette.tsx')).Palette })
const Palette = lazy(loadPalette)
/** Once the page has come to rest the palette is loaded, so that it opens at once. */
const PALETTE_AFTER_MS = 1_500

type Open = 'palette' | 'keys' | null

/** Whether somebody is typing, so that a letter is a letter. */
function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

/** Goes from a field to the page, or from a search to the first row that it found. What was typed stays. */
function leaveField(event: KeyboardEvent): void {
  const { key, target } = event
  if (!(target instanceof HTMLElement)) return
  const isDown = key === 'ArrowDown' && target.matches('main input[type="search"]')
  if (key !== 'Escape' && !isDown) return
  event.preventDefault()
  target.blur()
  if (isDown) visibleRows()[0]?.focus()
}

function visibleRows(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>('main [data-row]')].filter((row) => row.offsetParent !== null)
}

/** Moves the focus to the next or the last row of the list on the page. */
function moveRow(by: 1 | -1): void {
  const rows = visibleRows()
  const focused = rows.indexOf(document.activeElement as HTMLElement)
  // From what is open beside the list one goes on to its neighbour.
  const now = focused >= 0 ? focused : rows.findIndex((row) => row.closest('tr')?.classList.contains('chosen'))
  const next = rows[now === -1 ? (by === 1 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, now + by))]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}

/** Selects the row that has the focus, or takes it out again. */
function selectRow(): void {
  document.activeElement?.closest('tr')?.querySelector<HTMLInputElement>('input[type="checkbox"]')?.click()
}

/** Replays what is open, or else what is selected. */
function replay(): void {
  const buttons = ['main .detail-side', 'main .filters'].flatMap((place) => [
    ...document.querySelectorAll<HTMLButtonElement>(`${place} .actions button.button`),
  ])
  buttons.find(({ disabled, textContent }) => !disabled && /^Replay(?: selected)?$/.test(textContent.trim()))?.click()
}

function focusSearch(): void {
  const field =
    document.querySelector<HTMLInputElement>('main input[type="search"]') ?? document.querySelector<HTMLElement>('.search-button')
  field?.focus()
  if (field instanceof HTMLInputElement) field.select()
}

/** The keys of the whole console, and the dialogs that they open. */
export function useKeys(): { readonly openPalette: () => void; readonly dialogs: ReactNode } {
  const [open, setOpen] = useState<Open>(null)
  const router = useRouter()
  const close = useCallback(() => {
    takeTyped()
    setOpen(null)
  }, [])
  const cameFrom = useRef<string | null>(null)
  const isGoing = useRef(false)
  useEffect(() => {
    const plain: Readonly<Record<string, () => void>> = {
      g: () => {
        isGoing.current = true
      },
      r: replay,
      x: selectRow,
      '?': () => setOpen('keys'),
      '/': focusSearch,
      j: () => moveRow(1),
      k: () => moveRow(-1),
      Escape: () => goBack(cameFrom.current),
    }
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        awaitPalette()
        setOpen('palette')
        return
      }
      if (typeAhead(event)) return void (event.key === 'Escape' && close())
      // What an open menu took is no key of the page.
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return
      if (isTyping(event)) return leaveField(event)
      const deed = plain[event.key]
      if (deed === undefined && !isGoing.current) return
      event.preventDefault()
      const place = isGoing.current ? places.find(({ key }) => key === event.key) : undefined
      isGoing.current = false
      if (place !== undefined) void router.navigate({ to: place.to })
      else deed?.()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [router, close])
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette(), PALETTE_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  useEffect(
    () =>
      router.subscribe('onBeforeNavigate', ({ fromLocation, pathChanged }) => {
        // What narrows the list behind a dialog changes the address, too.
        if (!pathChanged) return
        cameFrom.current = fromLocation?.pathname ?? null
        close()
      }),
    [router, close],
  )
  return {
    openPalette: () => {
      awaitPalette()
      setOpen('palette')
    },
    dialogs: (
      <>
        {open === 'keys' && <KeysDialog onClose={close} />}
        {open === 'palette' && (
          <Suspense fallback={null}>
            <Palette onClose={close} />
          </Suspense>
        )}
      </>
    ),
  }
}
