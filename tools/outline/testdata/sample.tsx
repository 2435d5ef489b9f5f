import { useState } from "react";

type Props = { title: string; onClose?: () => void };

export function Panel({ title, onClose }: Props) {
  const [open, setOpen] = useState(true);
  return <div onClick={() => setOpen(!open)}>Don't {title}</div>;
}

export const Button: React.FC<Props> = ({ title }) => {
  return <button>{title}</button>;
};

class Legacy extends React.Component<Props> {
  render() {
    return <p>function no() {"{}"}</p>;
  }
}
