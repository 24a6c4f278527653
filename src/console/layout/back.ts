/** How long the list may take to load. */
const LOAD_MS = 5_000
const inputs = ['keydown', 'pointerdown'] as const

/**
 * Goes back from one item to its list, and puts the focus on the item's row, so that a person goes on from there.
 * @param cameFrom the path of the page before, below `/console`: if that was the list, its filters come back too.
 */
export function goBack(cameFrom: string | null): void {
  const back = document.querySelector<HTMLAnchorElement>('main a[data-back]')
  if (!back) return
  const { pathname } = location
  if (cameFrom !== null && back.pathname.endsWith(cameFrom)) history.back()
  else back.click()
  const rowOf = () =>
    [...document.querySelectorAll<HTMLAnchorElement>('main a[data-row]')].find(
      (row) => row.pathname === pathname && row.offsetParent !== null && location.pathname !== pathname,
    )
  const end = () => {
    observer.disconnect()
    clearTimeout(timer)
    for (const input of inputs) removeEventListener(input, end, { capture: true })
  }
  const look = () => {
    const row = rowOf()
    if (!row) return
    end()
    row.focus({ preventScroll: true })
    row.scrollIntoView({ block: 'nearest' })
  }
  const observer = new MutationObserver(look)
  observer.observe(document.body, { childList: true, subtree: true })
  const timer = setTimeout(end, LOAD_MS)
  // Whoever goes elsewhere meanwhile is left alone; the key that led here has passed the window already.
  for (const input of inputs) addEventListener(input, end, { capture: true })
}
