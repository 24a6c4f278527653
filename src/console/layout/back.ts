/** As long the list that one goes back to may take to come. */
const COMES_MS = 5_000
const deeds = ['keydown', 'pointerdown'] as const

/**
 * Goes back from what was opened of a list, and puts the focus on its row, so that one goes on from there.
 * @param cameFrom the path of the page before, below `/console`: if it was the list, one goes back to its filters too.
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
    for (const deed of deeds) removeEventListener(deed, end, { capture: true })
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
  const timer = setTimeout(end, COMES_MS)
  // Whoever goes elsewhere meanwhile is left alone; the key that led here has passed the window already.
  for (const deed of deeds) addEventListener(deed, end, { capture: true })
}
