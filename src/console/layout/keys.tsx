import { useRouter } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { goBack } from './back.ts'
import { KeysDialog } from './keys-dialog.tsx'

const loadPalette = async () => ({ default: (await import('./palette.tsx')).Palette })
const Palette = lazy(loadPalette)
/** Once the page has come to rest the palette is loaded, so that it takes what is typed right after its key. */
const PALETTE_AFTER_MS = 1_500

type Open = 'palette' | 'keys' | null

/** Whether somebody is typing, so that a letter is a letter. */
function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

/** Moves the focus to the next or the last row of the list on the page. */
function moveRow(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')].filter((row) => row.offsetParent !== null)
  const now = document.activeElement instanceof HTMLElement ? rows.indexOf(document.activeElement) : -1
  const next = rows[now === -1 ? (by === 1 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, now + by))]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
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
  const cameFrom = useRef<string | null>(null)
  useEffect(() => {
    const plain: Readonly<Record<string, () => void>> = {
      '?': () => setOpen('keys'),
      '/': focusSearch,
      j: () => moveRow(1),
      k: () => moveRow(-1),
      Escape: () => goBack(cameFrom.current),
    }
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        setOpen('palette')
        return
      }
      const deed = event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]') ? undefined : plain[event.key]
      if (deed === undefined) return
      if (isTyping(event)) {
        if (event.key === 'Escape' && event.target instanceof HTMLElement) event.target.blur()
        return
      }
      event.preventDefault()
      deed()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette(), PALETTE_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  const close = () => setOpen(null)
  useEffect(
    () =>
      router.subscribe('onBeforeNavigate', ({ fromLocation, pathChanged }) => {
        if (pathChanged) cameFrom.current = fromLocation?.pathname ?? null
        setOpen(null)
      }),
    [router],
  )
  return {
    openPalette: () => setOpen('palette'),
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
