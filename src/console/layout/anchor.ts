import { useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'

/** For this many ms, the page scrolls to the section again whenever loading content moves the section. */
const LOAD_MS = 4_000
/** Kinds of user input after which the page no longer scrolls to the section. */
const inputs = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const

/** Scrolls to the section that the `#` of the address names. Keeps the section in view while the page loads. */
export function useAnchor(): void {
  const hash = useRouterState({ select: ({ location }) => location.hash })
  const visit = useRouterState({ select: ({ location }) => location.state.__TSR_key })
  // biome-ignore lint/correctness/useExhaustiveDependencies: a repeated visit of the same address scrolls again.
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
      for (const input of inputs) removeEventListener(input, stop)
    }
    const timer = setTimeout(stop, LOAD_MS)
    for (const input of inputs) addEventListener(input, stop, { passive: true })
    show()
    return stop
  }, [hash, visit])
}
