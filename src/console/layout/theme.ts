import { createStore } from '../api/store.ts'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const KEY = 'theme'

export const theme = createStore<Theme>(themes.find((each) => each === localStorage.getItem(KEY)) ?? 'system')

export function setTheme(next: Theme): void {
  localStorage.setItem(KEY, next)
  document.documentElement.dataset['theme'] = next
  theme.set(next)
}

export function applyTheme(): void {
  setTheme(theme.get())
}
