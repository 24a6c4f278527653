import { useSyncExternalStore } from 'react'

/** As the system is, or as the reader wants it. */
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const KEY = 'theme'
const listeners = new Set<() => void>()

function stored(): Theme {
  const value = localStorage.getItem(KEY)
  return themes.find((theme) => theme === value) ?? 'system'
}

let theme: Theme = stored()

/** Shows the page in the colours of a theme. */
export function setTheme(next: Theme): void {
  theme = next
  localStorage.setItem(KEY, next)
  document.documentElement.dataset['theme'] = next
  for (const listener of listeners) listener()
}

export function applyTheme(): void {
  setTheme(theme)
}

export function useTheme(): Theme {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => theme,
  )
}
