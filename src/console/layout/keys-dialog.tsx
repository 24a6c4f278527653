import { Modal } from '../parts/modal.tsx'
import { places } from './navigation.ts'

const command = /Mac|iP/.test(navigator.userAgent) ? '⌘' : 'Ctrl'

const keys: readonly (readonly [keys: readonly string[], what: string])[] = [
  [[command, 'K'], 'Find pages, submissions and actions'],
  [['/'], 'Search on this page'],
  [['j'], 'Next row'],
  [['k'], 'Row before'],
  [['Enter'], 'Open the row'],
  [['Esc'], 'Back to the list'],
  [['x'], 'Select the row'],
  [['r'], 'Replay what is open, or what is selected'],
  ...places.map(({ name, key }) => [['g', key], `Go to ${name}`] as const),
  [['?'], 'Show these keys'],
]

/** The keys that the console knows. */
export function KeysDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Modal title="Keys" onClose={onClose}>
      <dl className="keys">
        {keys.map(([pressed, what]) => (
          <div key={what}>
            <dt>
              {pressed.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  )
}
