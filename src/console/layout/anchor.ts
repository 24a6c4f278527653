import { useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'

/** How long what stands above the section may take to load, and move it. */
const LOAD_MS = 4_000
/** Input of a person who wants to look elsewhere. */
const moves = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const

/** Scrolls to the section that the `#` of the address names, and keeps it in view while the page loads. */
export function useAnchor(): void {
  const hash = useRouterState({ select: ({ location }) => location.hash })
  const turn = useRouterState({ select: ({ location }) => location.state.__TSR_key })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same address, gone to again, is gone to again.
  useEffect(() => {
    const target = hash === '' ? null : document.getElementById(hash)
    const page = document.querySelector('main')
    if (!target || !page) return
    const show = () => target.scrollIntoView({ block: 'start' })
    const observer = new ResizeObserver(show)
    observer.observe(page.firstElementChild ?? page)
    const stop = () => {
      observer.disconnect()
      clearTimeout(timer)
      for (const move of moves) removeEventListener(move, stop)
    }
    const timer = setTimeout(stop, LOAD_MS)
    for (const move of moves) addEventListener(move, stop, { passive: true })
    show()
    return stop
  }, [hash, turn])
}
