const paths = {
  chat: 'M3 5.5A2.5 2.5 0 0 1 5.5 3h9A2.5 2.5 0 0 1 17 5.5v6a2.5 2.5 0 0 1-2.5 2.5H9l-4 3.2V14A2 2 0 0 1 3 12Z',
  list: 'M3 5h2M8 5h9M3 10h2m3 0h9M3 15h2m3 0h9',
  chart: 'M3 17h14M5 14v-4m5 4V4m5 10V8',
  route: 'M4 16a1.8 1.8 0 1 0 0-.1M16 4a1.8 1.8 0 1 0 0 .1M5.8 16H11a3 3 0 0 0 0-6H9a3 3 0 0 1 0-6h5.2',
  key: 'M12.5 3a4.5 4.5 0 1 1-3.6 7.2L3.5 15.6V17H6v-2h2v-2l1.4-1.4M13 7h.1',
  anchor: 'M10 6v11M10 6a1.8 1.8 0 1 0 0-3.6A1.8 1.8 0 0 0 10 6ZM4 11a6 6 0 0 0 12 0M7 9h6',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 20 20" aria-hidden="true" fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" strokeLinejoin="round">
      <path d={paths[name]} />
    </svg>
  )
}

export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M16 6v13M8 9v5a8 8 0 0 0 16 0V9M16 19c0 4-3 7-7 7m7-7c0 4 3 7 7 7" />
    </svg>
  )
}
