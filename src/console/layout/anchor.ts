import { useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'

/** As long what stands above a section may still come, and push it away. */
const COMES_MS = 4_000
/** What a person does who goes elsewhere. */
const moves = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const

/** Brings the section into sight that stands behind the `#` of the address, and keeps it there while the page fills. */
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
    const timer = setTimeout(stop, COMES_MS)
    for (const move of moves) addEventListener(move, stop, { passive: true })
    show()
    return stop
  }, [hash, turn])
}
