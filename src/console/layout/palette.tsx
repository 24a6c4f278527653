import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { useState } from 'react'
import { Modal } from '../parts/modal.tsx'
import { places } from './navigation.ts'
import { setTheme, themes } from './theme.ts'

/** Finds pages, submissions and actions by a few letters. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [search, setSearch] = useState('')
  const navigate = useNavigate()
  const go = (to: (typeof places)[number]['to']) => {
    onClose()
    void navigate({ to })
  }
  return (
    <Modal title="Command palette" onClose={onClose} isTitleHidden className="palette">
      <Command label="Command palette" loop>
        <Command.Input value={search} onValueChange={setSearch} placeholder="Find a page, a submission or an action" autoFocus />
        <Command.List>
          <Command.Empty>Nothing is called that.</Command.Empty>
          <Command.Group heading="Pages">
            {places.map(({ to, name, icon: Icon }) => (
              <Command.Item key={to} value={name} onSelect={() => go(to)}>
                <Icon aria-hidden="true" />
                {name}
              </Command.Item>
            ))}
          </Command.Group>
          <Command.Group heading="Colours">
            {themes.map((theme) => (
              <Command.Item
                key={theme}
                value={`Colours ${theme}`}
                onSelect={() => {
                  setTheme(theme)
                  onClose()
                }}
              >
                {theme === 'system' ? 'Colours as the system has them' : `Colours: ${theme}`}
              </Command.Item>
            ))}
          </Command.Group>
        </Command.List>
      </Command>
    </Modal>
  )
}
