fn _todo() {}
